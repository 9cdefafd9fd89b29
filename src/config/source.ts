import { readFileSync } from 'node:fs';
import { LineCounter, isMap, isNode, parse, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { UsageError } from '../domain/errors.ts';

/** The origin of a configuration, for messages. */
export interface SourceText {
  /** Its name, such as `shepherd.yaml`. */
  readonly name: string;
  /** ` (line 3, column 5)` of the key, or of its nearest existing section; else empty. */
  positionOf(path: readonly PropertyKey[]): string;
}

/** For values that never were text. */
export const noSource: SourceText = { name: 'the configuration', positionOf: () => '' };

/** Reads a configuration file. @throws {UsageError} the file is unreadable. */
export function readSource(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError('the configuration cannot be read; name another with --config', { cause });
  }
}

/**
 * Parses one YAML document.
 * @throws {UsageError} the text is no YAML, repeats a key, or has several documents.
 */
export function readYaml(text: string, name: string): { value: unknown; source: SourceText } {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: true, uniqueKeys: true });
  if (document.errors.length > 0) {
    const lines = document.errors.map((error) => `  ${error.message.split('\n')[0] ?? ''}`);
    throw new UsageError([`${name} is not valid YAML:`, ...lines].join('\n'));
  }
  const positionOf = (path: readonly PropertyKey[]) => positionIn(document, lineCounter, path);
  return { value: valueOf(document, name), source: { name, positionOf } };
}

/** Resolves aliases, which may reveal further faults. */
function valueOf(document: Document, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${name} is not valid YAML:\n  ${problem}`, { cause: error });
  }
}

function positionIn(
  document: Document,
  lineCounter: LineCounter,
  path: readonly PropertyKey[],
): string {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    const pair = isMap(node) ? node.items.find((item) => String(item.key) === String(key)) : null;
    if (!pair) break;
    if (isNode(pair.key)) offset = pair.key.range?.[0];
    node = pair.value;
  }
  if (offset === undefined) return '';
  const { line, col } = lineCounter.linePos(offset);
  return ` (line ${line}, column ${col})`;
}

/** Values of the command line by dotted path; they override the file. Absent ones are ignored. */
export type Flags = Readonly<Record<string, unknown>>;

/** A copy of `value` with the flags. Texts are parsed as YAML. */
export function withFlags(value: unknown, flags: Flags): unknown {
  const set = Object.entries(flags).filter(([, flag]) => flag !== undefined);
  return set.reduce<unknown>(
    (tree, [path, flag]) => graft(tree, path.split('.'), scalar(flag)),
    value,
  );
}

const scalar = (flag: unknown): unknown =>
  typeof flag === 'string' ? (parse(flag) ?? flag) : flag;

function graft(tree: unknown, [key, ...rest]: readonly string[], leaf: unknown): unknown {
  if (key === undefined) return leaf;
  const branches = typeof tree === 'object' && tree !== null ? tree : {};
  const branch = Object.hasOwn(branches, key) ? (branches as Record<string, unknown>)[key] : {};
  return { ...branches, [key]: graft(branch, rest, leaf) };
}
