"""Does NonlinearPCA find what is planted, and where does it lose to PCA?"""
