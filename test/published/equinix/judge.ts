import { isIPv4 } from 'node:net';
import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import {
  inputs,
  linked,
  opaque,
  openedBy,
  operations,
  resources,
  undeclaredFields,
  type FieldTypes,
  type PublishedOperation,
} from './description.ts';

/**
 * Judges one exchange with the emulator by the published description: its reply, and its request if
 * our client sent it. Returns the problems; empty is good.
 * @param met receives the names of the operation and of each field with a value, as
 * `Device.hostname`.
 */
export function judge(exchange: Exchange, met = new Set<string>()): string[] {
  const { method, route, status } = exchange;
  // PATCH is accepted like PUT, because clients send it.
  const operation =
    operations[`${method} ${route}`] ??
    (method === 'PATCH' ? operations[`PUT ${route}`] : undefined);
  const problems = [
    // The daemon and its commands identify themselves; tests that send raw requests do not.
    ...(exchange.userAgent.startsWith('shepherd') ? ofRequest(exchange, operation) : []),
    // A reply made or spoiled by a fault rule is not judged.
    ...(exchange.isInjected ? [] : ofReply(exchange, operation, met)),
  ];
  return problems.map((problem) => `${method} ${route ?? exchange.path} ${status}: ${problem}`);
}

/** Rules for a body. */
interface Hearing {
  readonly table: Readonly<Record<string, FieldTypes>>;
  /** Dotted names that the request expanded and shrank. */
  readonly include: ReadonlySet<string>;
  readonly exclude: ReadonlySet<string>;
  /** A reply may hold null, and resources as an href; a request may not. */
  readonly isReply: boolean;
  readonly met: Set<string>;
  /** States that a test set on a device, which the service need not know. */
  readonly forcedStates: ReadonlySet<unknown>;
}

/** The place of a value. */
interface ValuePath {
  /** `Device.created_by` */
  readonly name: string;
  /** For a reader: `devices[3].created_by`. */
  readonly path: string;
  /** As in `include` and `exclude`: from the resource on, without the list around it. */
  readonly selector: string;
}

function* ofReply(
  { method, route, query, status, reply, forcedStates }: Exchange,
  operation: PublishedOperation | undefined,
  met: Set<string>,
): Generator<string> {
  const [include, exclude] = [namesOf(query['include']), namesOf(query['exclude'])];
  const hearing = { table: resources, include, exclude, isReply: true, met, forcedStates };
  // A missing path is answered 404, a wrong method 405.
  if (!operation && route === null && (status === 404 || status === 405)) {
    return yield* ofBody(hearing, 'Error', parsed(reply));
  }
  if (!operation) return yield 'the operation is not declared';
  met.add(`${method} ${route}`);
  if (!operation.statuses.includes(status)) yield 'the status is not declared';
  const type = status >= 400 ? 'Error' : operation.reply;
  const isEmpty = status === 202 || status === 204 || type === undefined;
  if (!isEmpty) yield* ofBody(hearing, type, parsed(reply));
  else if (reply !== '') yield `the body is to be empty and is ${reply.slice(0, 80)}`;
}

function* ofRequest(
  { query, body }: Exchange,
  operation: PublishedOperation | undefined,
): Generator<string> {
  if (!operation) return yield 'our client asks for an operation that is not declared';
  for (const name of Object.keys(query)) {
    if (!operation.query.includes(name)) {
      yield `our client sends the undeclared query parameter ${name}`;
    }
  }
  if (operation.body === undefined) {
    if (body !== undefined) yield 'our client sends a body where none is declared';
    return;
  }
  const none = new Set<string>();
  const around = { include: none, exclude: none, met: new Set<string>(), forcedStates: none };
  const problems = [...ofBody({ table: inputs, isReply: false, ...around }, operation.body, body)];
  const places = ['metro', 'facility', 'hardware_reservation_id'];
  const isPlaced = isObject(body) && places.some((name) => body[name]);
  if (operation.body === 'DeviceCreateInput' && !isPlaced) {
    problems.push('DeviceCreateInput.metro is required and absent');
  }
  yield* problems.map((problem) => `our client's request: ${problem}`);
}

function* ofBody(hearing: Hearing, type: string, body: unknown): Generator<string> {
  if (isObject(body)) yield* ofFields(hearing, type, body, null);
  else yield `${type} is expected and ${kindOf(body)} is there`;
}

function* ofFields(
  hearing: Hearing,
  resource: string,
  value: Readonly<Record<string, unknown>>,
  outer: ValuePath | null,
): Generator<string> {
  const declared = hearing.table[resource]!;
  for (const [field, type] of Object.entries(declared)) {
    if (!type.endsWith('!') || (value[field] ?? null) !== null) continue;
    yield `${resource}.${field} is required and absent${outer ? ` (at ${outer.path})` : ''}`;
  }
  for (const [field, each] of Object.entries(value)) {
    const name = `${resource}.${field}`;
    const isOutermost = outer === null || /^\w+List\./.test(outer.name);
    const at = {
      name,
      path: outer ? `${outer.path}.${field}` : field,
      selector: isOutermost ? field : `${outer.selector}.${field}`,
    };
    const type = declared[field] ?? (hearing.isReply ? undeclaredFields[name] : undefined);
    if (type === undefined) yield `${name} is not declared (at ${at.path})`;
    else if (each !== null) {
      hearing.met.add(name);
      yield* ofValue(hearing, type.replace('!', ''), each, at);
    } else if (!hearing.isReply) yield `${name} is null`;
  }
}

function* ofValue(
  hearing: Hearing,
  type: string,
  value: unknown,
  at: ValuePath,
): Generator<string> {
  const wrong = `${at.name} is to be ${type} and is ${kindOf(value)} (at ${at.path})`;
  const fits = fitting(type);
  if (type.startsWith('[')) {
    if (!Array.isArray(value)) return yield wrong;
    for (const [index, item] of value.entries()) {
      yield* ofValue(hearing, type.slice(1, -1), item, { ...at, path: `${at.path}[${index}]` });
    }
  } else if (fits) {
    const isForced = at.name === 'Device.state' && hearing.forcedStates.has(value);
    if (!fits(value) && !isForced) yield wrong;
    else if (at.name.endsWith('.href')) yield* ofHref(value, at);
  } else if (!isObject(value)) yield wrong;
  else if (!opaque.has(type)) yield* ofResource(hearing, type, value, at);
}

function* ofResource(
  hearing: Hearing,
  type: string,
  value: Readonly<Record<string, unknown>>,
  at: ValuePath,
): Generator<string> {
  const { name, selector, path } = at;
  const isHref = 'href' in value && Object.keys(value).length === 1;
  if (isHref && hearing.isReply && type !== 'Href') {
    const mayBe = linked.has(name) || hearing.exclude.has(selector);
    if (mayBe) yield* ofHref(value['href'], at);
    else yield `${name} is an href and nobody excluded it (at ${path})`;
    return;
  }
  // `include=a.b` expands `a`, too.
  const isIncluded = [...hearing.include].some((each) => `${each}.`.startsWith(`${selector}.`));
  const isOpened = type === 'Href' && !isHref && isIncluded;
  yield* ofFields(hearing, (isOpened && openedBy[name]) || type, value, at);
}

/** An href may be a path below the base, or below its prefix. */
function* ofHref(href: unknown, { name, path }: ValuePath): Generator<string> {
  if (typeof href === 'string' && (href.startsWith('/') || URL.canParse(href))) return;
  yield `${name} is to be href and is ${kindOf(href)} (at ${path})`;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const FORMATS: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  text: isText,
  uuid: (value) => isText(value) && UUID.test(value),
  time: (value) => isText(value) && TIME.test(value) && !Number.isNaN(Date.parse(value)),
  date: (value) => isText(value) && /^\d{4}-\d\d-\d\d$/.test(value),
  ipv4: (value) => isText(value) && isIPv4(value),
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  object: isObject,
};

/** Whether a value fits a plain type; undefined: the type is a resource or a list. */
function fitting(type: string): ((value: unknown) => boolean) | undefined {
  if (!/^[=#]/.test(type)) return FORMATS[type];
  const values = type.slice(1).split('|');
  return (value) =>
    (type.startsWith('=') ? isText(value) : typeof value === 'number') &&
    values.includes(String(value));
}

const namesOf = (list = ''): ReadonlySet<string> =>
  new Set(list.split(',').flatMap((name) => name.trim() || []));

/** The body as JSON; otherwise the text itself, which then has the wrong type. */
function parsed(reply: string): unknown {
  try {
    return JSON.parse(reply);
  } catch {
    return reply === '' ? undefined : reply;
  }
}

const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'a list' : value === undefined ? 'nothing' : JSON.stringify(value);
