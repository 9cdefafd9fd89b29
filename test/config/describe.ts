import type { z } from 'zod';
import { configSchema } from '../../src/config/schema.ts';
import { childrenOf, unwrap, variantsOf } from '../../src/config/walk.ts';

/** One configuration key, as the documentation shows it. */
export interface ConfigRow {
  /** Such as `agent.sshConnectTimeout`; `<name>` stands for a name of your choice. */
  readonly path: string;
  readonly type: string;
  /** As written in the file; `required`, or `–` for unset. */
  readonly default: string;
  readonly meaning: string;
  /** The only driver whose providers have the key; null: everybody. */
  readonly driver: string | null;
}

/** All keys, read from the schema itself, so that the documentation cannot drift. */
export function describeConfig(): ConfigRow[] {
  return rowsOf(configSchema({ env: {}, baseDirectory: '/', checkFiles: false }), '', null);
}

type Driver = ConfigRow['driver'];

function rowsOf(section: z.ZodType, prefix: string, driver: Driver): ConfigRow[] {
  const inside = unwrap(section);
  const leftOut = !inside.required && inside.defaultValue === undefined;
  const variants = variantsOf(section);
  const rowsAt = (key: string, child: z.ZodType, of: Driver): ConfigRow[] => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    if (childrenOf(child).size > 0) return rowsOf(child, path, of);
    const row = leafRow(path, child, leftOut || key === '<name>');
    const type = variants.size > 0 && key === inside.discriminator ? oneOf(variants) : row.type;
    return [{ ...row, type, driver: of }];
  };
  const children = childrenOf(section);
  // A key inside a key of one driver belongs to that driver too.
  const shared =
    variants.size === 1
      ? new Map([...children].filter(([key]) => key === inside.discriminator))
      : children;
  const own = [...variants].flatMap(([name, variant]) =>
    [...childrenOf(variant)]
      .filter(([key]) => !shared.has(key))
      .flatMap(([key, child]) => rowsAt(key, child, name)),
  );
  return [...[...shared].flatMap(([key, child]) => rowsAt(key, child, driver)), ...own];
}

const oneOf = (variants: ReadonlyMap<string, unknown>) =>
  `one of ${[...variants.keys()].join(', ')}`;

/** `leftOut`: the surrounding section is unset unless written, so none of its keys is required. */
function leafRow(path: string, leaf: z.ZodType, leftOut: boolean) {
  const { required, defaultValue, type, meaning } = unwrap(leaf);
  const unset = required && !leftOut ? 'required' : '–';
  const written = typeof defaultValue === 'object' ? JSON.stringify(defaultValue) : defaultValue;
  const text = written === undefined ? unset : String(written);
  return { path, type, default: text, meaning };
}

/** Keys of a provider that repeat those of another section; the table has one row for them. */
const REPEATED = 'providers.<name>.ladder';
const REPEATED_ROW: ConfigRow = {
  path: REPEATED,
  type: 'section',
  default: '–',
  meaning: 'The same keys as recoverer.ladder, for the machines of this provider.',
  driver: null,
};

/** The rows without repeated keys. */
function withoutRepeats(rows: readonly ConfigRow[]): ConfigRow[] {
  const isRepeat = ({ path }: ConfigRow) => path.startsWith(`${REPEATED}.`);
  const first = rows.findIndex(isRepeat);
  return rows.flatMap((row, at) => (at === first ? [REPEATED_ROW] : isRepeat(row) ? [] : [row]));
}

/** The rows as Markdown: one list of common keys, and one per driver. */
export function configList(rows: readonly ConfigRow[] = describeConfig()): string {
  const drivers = [...new Set(rows.flatMap(({ driver }) => driver ?? []))];
  const own = drivers.map((name) => {
    const those = rows.filter(({ driver }) => driver === name);
    return `### Keys of the driver \`${name}\`\n\n${listOf(those)}`;
  });
  const shared = rows.filter(({ driver }) => driver === null);
  return [listOf(withoutRepeats(shared)), ...own].join('\n\n');
}

function listOf(rows: readonly ConfigRow[]): string {
  const plain = (text: string) => text.replaceAll('<', '&lt;');
  return rows
    .map((row) => {
      const value = valueOf(row);
      const meaning = row.meaning === '' ? '' : `: ${row.meaning}`;
      return plain(`${value === '' ? '' : ` (${value})`}${meaning}`).replace(
        /^/,
        `- \`${row.path}\``,
      );
    })
    .join('\n');
}

/** The permitted values in few words, and the default. */
function valueOf({ type, default: otherwise }: ConfigRow): string {
  const value = type
    .replace(/^a whole number from (\d+) to (\d+)$/, 'integer $1–$2')
    .replace(/^a number from (\d+) to (\d+)$/, 'number $1–$2')
    .replace(/^true or false$/, 'boolean');
  if (otherwise === 'required') return `${value}, required`;
  return otherwise === '–' ? value : `${value}, \`${otherwise}\``;
}
