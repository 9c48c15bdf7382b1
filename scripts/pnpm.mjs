/** The one place that pins the package manager; it is fetched by npx and never installed. */
export const PNPM = 'pnpm@10.34.9';
