import type { z } from 'zod';
import { configSchema } from './schema.ts';
import { childrenOf, unwrap } from './walk.ts';

/** One key of the configuration, as documentation shows it. */
export interface ConfigRow {
  /** Such as `agent.sshConnectTimeout`; `<name>` stands for a name of your choice. */
  readonly path: string;
  readonly type: string;
  /** As written in the file; `required`, or `–` for unset. */
  readonly default: string;
  readonly meaning: string;
}

/** All keys, read from the schema itself, so that the documentation cannot drift from it. */
export function describeConfig(): ConfigRow[] {
  return rowsOf(configSchema({ env: {}, baseDirectory: '/', checkFiles: false }), '');
}

function rowsOf(section: z.ZodType, prefix: string): ConfigRow[] {
  const inside = unwrap(section);
  const leftOut = !inside.required && inside.defaultValue === undefined;
  return [...childrenOf(section)].flatMap(([key, child]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    return childrenOf(child).size > 0 ? rowsOf(child, path) : [leafRow(path, child, leftOut)];
  });
}

/** `leftOut`: the section around it is unset unless written, so nothing in it is required as such. */
function leafRow(path: string, leaf: z.ZodType, leftOut: boolean): ConfigRow {
  const { required, defaultValue, type, meaning } = unwrap(leaf);
  const unset = required && !leftOut ? 'required' : '–';
  const text = defaultValue === undefined ? unset : String(defaultValue);
  return { path, type, default: text, meaning };
}

/** The rows as a Markdown table. */
export function configTable(rows: readonly ConfigRow[] = describeConfig()): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const code = (text: string) => (/^(required|–)$/.test(text) ? text : `\`${text}\``);
  const lines = rows.map(
    (row) =>
      `| \`${row.path}\` | ${cell(row.type)} | ${code(row.default)} | ${cell(row.meaning)} |`,
  );
  return ['| key | type | default | meaning |', '| --- | --- | --- | --- |', ...lines].join('\n');
}
