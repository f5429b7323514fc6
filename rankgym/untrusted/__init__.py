"""Read zip archives, arrays and pickles that somebody else may have written: within limits, and running nothing.

All other rooms open such files here alone. Errors are ``RefusedFile``, a ValueError; its message does not have the
file's name, which the caller adds. May import nothing of rankgym; imports NumPy.
"""

from rankgym.untrusted.archives import open_archive, read_array, read_arrays, read_member, read_members
from rankgym.untrusted.files import RefusedFile, check_parquet, parse_json, read_file

__all__ = [
    "RefusedFile",
    "check_parquet",
    "open_archive",
    "parse_json",
    "read_array",
    "read_arrays",
    "read_file",
    "read_member",
    "read_members",
]
