export const inapplicable: ReadonlyMap<string, string>;
export function startServed(
  configFile: string,
): Promise<{ url: string; pid: number; close(): Promise<void> }>;
