import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import textformat from 'protobufjs/ext/textformat.js';
import type { InspectedMachine } from '../port.ts';
import { REDACTED, redact } from './secrets.ts';
import type { Fields } from './secrets.ts';

const SCHEMAS = join(dirname(findPackageJSON(import.meta.url)!), 'proto/');
const FILES = ['cloud/bmaas/server/api/callback.proto'];

/** Columns with serialized messages, and their message types. */
const MESSAGE_OF: ReadonlyMap<string, string> = new Map([
  ['hardware_report_raw', 'cloud.bmaas.server.api.AgentHardwareReport'],
  ['os_installation_request_raw', 'cloud.bmaas.server.api.OSInstallationRequest'],
  ['os_installation_report_raw', 'cloud.bmaas.server.api.OSInstallationReport'],
]);

/** A message for people, without its secrets. */
export interface ReadableMessage {
  /** Protobuf's text format; comments at the end name what was left out. */
  readonly text: string;
  /**
   * Fields by their schema names, with defaults filled in; enums by name, 64-bit integers as text,
   * bytes as hex. See `fieldAt`.
   */
  readonly fields: Fields;
}

export interface MessageReader {
  /** Whether the column holds messages. */
  knows(column: string): boolean;
  /** Null if the bytes are not the column's message. The column must be known. */
  read(column: string, bytes: Uint8Array): ReadableMessage | null;
}

/** Loads the schemas when the first message is read. */
export function createMessageReader(): MessageReader {
  let schemas: protobuf.Root | undefined;
  const typeOf = (column: string) =>
    (schemas ??= loadSchemas()).lookupType(MESSAGE_OF.get(column) ?? '');
  return {
    knows: (column) => MESSAGE_OF.has(column),
    read: (column, bytes) => readMessage(typeOf(column), bytes),
  };
}

function loadSchemas(): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => SCHEMAS + target;
  return root.loadSync(FILES, { keepCase: true });
}

function readMessage(type: protobuf.Type, bytes: Uint8Array): ReadableMessage | null {
  let decoded: protobuf.Message;
  try {
    decoded = type.decode(bytes);
  } catch {
    // Whatever the decoder reports, the caller only shows that there is no message.
    return null;
  }
  const { fields, hidden } = redact(type.toObject(decoded));
  const clean = type.fromObject(fields);
  const notes = hidden.map((path) => `# ${path}: ${REDACTED}`);
  const text = [textformat.toText(type, clean), ...notes].filter((part) => part !== '').join('\n');
  const options = { longs: String, enums: String, defaults: true, arrays: true };
  const readable = withHex(type.toObject(clean, options)) as Record<string, unknown>;
  for (const path of hidden) mark(readable, path);
  return { text, fields: readable };
}

function withHex(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(withHex);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withHex(inner)]));
}

/** Marks the place of a removed secret. */
function mark(fields: Record<string, unknown>, path: string): void {
  const steps = stepsOf(path) ?? [];
  const last = steps.pop();
  const parent = follow(fields, steps) as Record<string, unknown> | undefined;
  if (parent && last !== undefined) parent[last] = REDACTED;
}

/**
 * One field of a message by its path, such as `report.cpu[0].cores`, as text.
 * @returns null if there is no such field, or it is unset and has no default.
 */
export function fieldAt(fields: Fields, path: string): string | null {
  const steps = stepsOf(path);
  const found = steps === null ? undefined : follow(fields, steps);
  if (found === undefined || found === null) return null;
  return typeof found === 'object' ? JSON.stringify(found) : String(found);
}

const PATH = /^\w+(\[\d+\])*(\.\w+(\[\d+\])*)*$/;

const stepsOf = (path: string): string[] | null =>
  PATH.test(path) ? (path.match(/\w+/g) ?? []) : null;

const follow = (from: unknown, steps: readonly string[]): unknown =>
  steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined,
    from,
  );

/** One value of a machine and its place: `HardwareReport.report.cpu[0].cores`. */
export interface PickedField {
  readonly place: string;
  readonly value: string;
}

/**
 * Every value that a path selects: a column of a tag (`provider_id`), or a field of a message in a
 * column (`report.cpu[0].cores`). With the tag's name in front (`Provided.provider_id`), the path
 * selects at most one.
 */
export const pickFields = (tags: InspectedMachine['tags'], path: string): PickedField[] =>
  Object.entries(tags).flatMap(([tag, fields]) => {
    const inner = path.startsWith(`${tag}.`) ? path.slice(tag.length + 1) : path;
    const place = `${tag}.${inner}`;
    const column = fields.find(({ name }) => name === inner);
    if (column) return [{ place, value: column.value }];
    return fields.flatMap(({ message }) => {
      const value = message ? fieldAt(message, inner) : null;
      return value === null ? [] : [{ place, value }];
    });
  });
