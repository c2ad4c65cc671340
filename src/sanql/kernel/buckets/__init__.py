"""Units in buckets, files of Parquet that other machines can open: what is run over each, and over all.

A layout has the rows of every private table in as many files as there are buckets, each unit's in one
bucket, and public tables whole. What the units of a bucket add to the cells is computed by a process that
has that bucket in sight and no other (`worker.py`); what all of them add is merged by another one. Who
starts those processes is nobody's concern here.
"""

from sanql.kernel.buckets.layout import (
    MANIFEST,
    BucketedTable,
    BucketFile,
    BucketLayout,
    NotAsWritten,
    SpreadTable,
    read_layout,
)
from sanql.kernel.buckets.messages import (
    ComputePart,
    FinishPublic,
    Given,
    MergeParts,
    OpenBuckets,
    Spread,
)
from sanql.kernel.buckets.process import (
    BucketProcess,
)
from sanql.kernel.buckets.tasks import (
    FRAME,
    Assignment,
    MergeTask,
    PartTask,
    VersionTask,
)
from sanql.kernel.buckets.versions import (
    Versions,
    kernel_modules,
    own_versions,
)

__all__ = [
    "FRAME",
    "MANIFEST",
    "Assignment",
    "BucketFile",
    "BucketLayout",
    "BucketProcess",
    "BucketedTable",
    "ComputePart",
    "FinishPublic",
    "Given",
    "MergeParts",
    "MergeTask",
    "NotAsWritten",
    "OpenBuckets",
    "PartTask",
    "Spread",
    "SpreadTable",
    "VersionTask",
    "Versions",
    "kernel_modules",
    "own_versions",
    "read_layout",
]
