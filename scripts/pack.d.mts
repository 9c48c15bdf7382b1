export interface Packed {
  name: string;
  version: string;
  /** Absolute path. */
  tarball: string;
  /** Paths of the files in it, without the leading `package/`. */
  files: string[];
}
export function packAll(directory: string): Packed[];
