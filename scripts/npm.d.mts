export function npm(args: readonly string[], cwd: string): string;
export function run(program: string, args: readonly string[], cwd: string): string;
export function installOnce(directory: string, packages: readonly string[]): void;
export function nodeProgram(major: number): string;
