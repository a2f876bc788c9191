#!/bin/bash
# A study on the nodes of a Slurm job: sbatch slurm.sh thesis-4 --scale paper
# The same command again goes on where this one ended. Adapt the lines with #SBATCH.
#SBATCH --job-name=unpick
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail
export RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
ip=$(srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address)
ip=${ip%% *}
export RAY_ADDRESS="$ip:$((20000 + SLURM_JOB_ID % 10000))"
gpus=${SLURM_GPUS_ON_NODE:-0}
size=(--num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus="$gpus" --disable-usage-stats --block)

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \
    ray start --head --node-ip-address="$ip" --port="${RAY_ADDRESS##*:}" \
    --include-dashboard=false "${size[@]}" &
for _ in {1..60}; do
    ray health-check --address "$RAY_ADDRESS" && break
    sleep 2
done

others=$((${#nodes[@]} - 1))
if ((others)); then
    srun --overlap --nodes="$others" --ntasks="$others" --exclude="$head" \
        ray start --address="$RAY_ADDRESS" "${size[@]}" &
fi

# Two minutes before the time is over Slurm sends SIGTERM, upon which checkpoints are saved.
unpick study "$@" --on ray &
study=$!
trap 'kill -TERM "$study"' TERM INT
code=0
wait "$study" || code=$?
wait "$study" || code=$? # after a signal the first wait ends before the study does
exit "$code"
