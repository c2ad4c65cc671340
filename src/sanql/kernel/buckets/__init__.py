"""Units in buckets, files of Parquet that other machines can open: what is run over each, and over all.

A layout has the rows of every private table in as many files as there are buckets, each unit's in one
bucket, and public tables whole. What the units of a bucket add to the cells is computed by a process that
has that bucket in sight and no other (`worker.py`); what all of them add is merged by another one. Who
starts those processes is nobody's concern here.
"""

from sanql.kernel.buckets.encryption import LayoutKey
from sanql.kernel.buckets.layout import (
    FORMAT,
    MANIFEST,
    BucketedTable,
    BucketFile,
    BucketLayout,
    NotAsWritten,
    SpreadSegment,
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
    WriteEncrypted,
)
from sanql.kernel.buckets.process import (
    BucketProcess,
)
from sanql.kernel.buckets.sharing import (
    SEVERAL,
    FindUnits,
    ShareOut,
    ShareOutKeys,
    SharingTask,
    SourceShare,
    Towards,
    WriteShares,
    read_name,
)
from sanql.kernel.buckets.sharing_tasks import (
    PLACED,
    Chores,
    FindUnitsTask,
    LookTask,
    ShareOutTask,
    WriteTask,
)
from sanql.kernel.buckets.tasks import (
    FRAME,
    PARTS,
    AddTask,
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
from sanql.kernel.buckets.writing import is_as_known

__all__ = [
    "FORMAT",
    "FRAME",
    "MANIFEST",
    "PARTS",
    "PLACED",
    "SEVERAL",
    "AddTask",
    "Assignment",
    "BucketFile",
    "BucketLayout",
    "BucketProcess",
    "BucketedTable",
    "Chores",
    "ComputePart",
    "FindUnits",
    "FindUnitsTask",
    "FinishPublic",
    "Given",
    "LayoutKey",
    "LookTask",
    "MergeParts",
    "MergeTask",
    "NotAsWritten",
    "OpenBuckets",
    "PartTask",
    "ShareOut",
    "ShareOutKeys",
    "ShareOutTask",
    "SharingTask",
    "SourceShare",
    "Spread",
    "SpreadSegment",
    "SpreadTable",
    "Towards",
    "VersionTask",
    "Versions",
    "WriteEncrypted",
    "WriteShares",
    "WriteTask",
    "is_as_known",
    "kernel_modules",
    "own_versions",
    "read_layout",
    "read_name",
]
