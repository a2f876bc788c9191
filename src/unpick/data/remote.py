"""Addresses, checksums and sizes of the public data files."""

from dataclasses import dataclass

from unpick.data.cars3d import ARCHIVE, Cars3D
from unpick.data.dsprites import STEM, DSprites
from unpick.data.shapes3d_file import Shapes3DFile


@dataclass(frozen=True)
class RemoteFile:
    """A public file.

    Args:
        folder: Folder to put it in: the name of its data set.
        name: Name of the file in that folder.
        url: Its address.
        checksum: Such as "md5:7da3..."; empty where none is known.
        size: In bytes; 0 where it is not known.
    """

    folder: str
    name: str
    url: str
    checksum: str = ""
    size: int = 0


DSPRITES = f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{STEM}"
SHAPES3D = "https://storage.googleapis.com/3d-shapes/3dshapes.h5"
CARS3D = f"http://www.scottreed.info/files/{ARCHIVE}"
MPI3D = "https://storage.googleapis.com/mpi3d_disentanglement_dataset/data"


def _group(folder: str, base: str, *rows: tuple[str, str, int]) -> tuple[RemoteFile, ...]:
    return tuple(
        RemoteFile(folder, name, f"{base}/{name}", f"sha256:{sha256}", size)
        for name, sha256, size in rows
    )


# Files that `unpick data get NAME` fetches. MPI3D has no checksum here: the published ones are of
# files on a server that no longer exists, and it is not known whether the files on its successor
# are the same. `get` must not delete 12.7 GB for that reason; `unpick data check` compares them.
REMOTE: dict[str, tuple[RemoteFile, ...]] = {
    "dsprites": (
        RemoteFile("dsprites", f"{STEM}.npz", f"{DSPRITES}.npz", DSprites.checksums[".npz"]),
    ),
    "dsprites-hdf5": (
        RemoteFile(
            "dsprites", f"{STEM}.hdf5", f"{DSPRITES}.hdf5", DSprites.checksums[".hdf5"], 28_024_106
        ),
    ),
    "shapes3d-file": (
        RemoteFile("shapes3d-file", "3dshapes.h5", SHAPES3D, Shapes3DFile.checksum, 267_573_662),
    ),
    "mpi3d-toy": (RemoteFile("mpi3d", "mpi3d_toy.npz", f"{MPI3D}/mpi3d_toy.npz"),),
    "mpi3d-realistic": (
        RemoteFile(
            "mpi3d", "mpi3d_realistic.npz", f"{MPI3D}/mpi3d_realistic.npz", "", 12_740_198_762
        ),
    ),
    "mnist": _group(
        "mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
        (
            "train-images-idx3-ubyte.gz",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            9_912_422,
        ),
        (
            "train-labels-idx1-ubyte.gz",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            28_881,
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            1_648_877,
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            4_542,
        ),
    ),
    "fmnist": _group(
        "fmnist",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        (
            "train-images-idx3-ubyte.gz",
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            26_421_880,
        ),
        (
            "train-labels-idx1-ubyte.gz",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            29_515,
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            4_422_102,
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            5_148,
        ),
    ),
    "smallnorb": _group(
        "smallnorb",
        "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small",
        (
            "smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat.gz",
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
            131_896_188,
        ),
        (
            "smallnorb-5x46789x9x18x6x2x96x96-training-cat.mat.gz",
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
            348,
        ),
        (
            "smallnorb-5x46789x9x18x6x2x96x96-training-info.mat.gz",
            "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
            71_052,
        ),
        (
            "smallnorb-5x01235x9x18x6x2x96x96-testing-dat.mat.gz",
            "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
            130_799_817,
        ),
        (
            "smallnorb-5x01235x9x18x6x2x96x96-testing-cat.mat.gz",
            "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
            347,
        ),
        (
            "smallnorb-5x01235x9x18x6x2x96x96-testing-info.mat.gz",
            "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
            10_428,
        ),
    ),
    "cars3d": (RemoteFile("cars3d", ARCHIVE, CARS3D, Cars3D.checksum),),
}

# Data sets without a stable address, with the reason or the source.
NOT_FETCHABLE = {
    "mpi3d": "name the variant: mpi3d-toy or mpi3d-realistic, 12.7 GB each",
    "mpi3d-real": "get it from github.com/rr-learning/disentanglement_dataset",
    "mpi3d-complex": "get it from github.com/rr-learning/disentanglement_dataset",
    "celeba": "get img_align_celeba.zip from mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    "faces": "renders of the Basel face model may not be distributed; heads stands in for them",
}
