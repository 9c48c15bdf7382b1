export function judge(tarball: string): Promise<string[]>;
