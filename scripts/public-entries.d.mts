export function publicEntries(): { specifier: string; source: string }[];
