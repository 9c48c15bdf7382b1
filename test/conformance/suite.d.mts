export interface Suite {
  name: string;
  entry: string;
  versions: (string | undefined)[];
}
export const suites: Suite[];
export function isRepeated(suite: Suite, version: string | undefined): boolean;
export function scenariosOf(suite: Suite, version: string | undefined): Promise<string[]>;
export function runScenario(
  suite: Suite,
  version: string | undefined,
  scenario: string,
): Promise<{ passed: boolean; checks: string; output: string }>;
export function serverScenariosOf(suite: Suite, version: string | undefined): Promise<string[]>;
export function runServerScenario(
  suite: Suite,
  version: string | undefined,
  scenario: string,
  url: string,
): Promise<{ passed: boolean; output: string }>;
