/** One family of metrics as text of Prometheus: its HELP, its TYPE, a line for every sample. Pure. */

export interface Sample {
  /** Of a histogram: what the line is called beside the family. */
  suffix?: '_bucket' | '_sum' | '_count';
  labels: Readonly<Record<string, string>>;
  value: number;
}

export interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: readonly Sample[];
}

export function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.map(({ suffix = '', labels, value }) => {
    const inner = Object.entries(labels).map(([label, text]) => `${label}="${escapedLabel(text)}"`);
    return `${name}${suffix}${inner.length === 0 ? '' : `{${inner.join(',')}}`} ${value}\n`;
  });
  return `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function escapedLabel(text: string): string {
  return escapedHelp(text.toWellFormed()).replaceAll('"', '\\"');
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
