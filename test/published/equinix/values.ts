import { linked, openedBy, type Allowance } from './allowances.ts';
import { opaque, type Fields } from './resources.ts';
import { fieldsOf, isObject, type Field, type Type } from './types.ts';

/** What is being judged, and where its findings go. */
export interface Hearing {
  /** Resources or inputs by name. */
  readonly table: Readonly<Record<string, Fields>>;
  /** Dotted names that the request has opened and shrunk. */
  readonly include: ReadonlySet<string>;
  readonly exclude: ReadonlySet<string>;
  /** A reply may hold null, and resources as an href; a request may not. */
  readonly isReply: boolean;
  /** One more value of a declared field: `Device.hostname`. */
  readonly met: (field: string) => void;
  readonly allow: (name: Allowance) => void;
  readonly refuse: (problem: string) => void;
  /** Why a value of a wrong type may stand in a field after all. */
  readonly excuse: (field: string, value: unknown) => Allowance | undefined;
}

/** Where a value is: in which field of what, and at which place of the field's list. */
interface Place {
  /** `Device.created_by` */
  readonly name: string;
  readonly field: string;
  readonly index?: number | string;
  readonly outer: Place | null;
}

/** Judges a whole body: a resource or an input. */
export function judgeBody(hearing: Hearing, type: string, body: unknown): void {
  if (isObject(body)) judgeFields(hearing, type, body, null);
  else hearing.refuse(`${type} is expected and ${kindOf(body)} is there`);
}

function judgeFields(
  hearing: Hearing,
  resource: string,
  value: Readonly<Record<string, unknown>>,
  outer: Place | null,
): void {
  const fields = fieldsOf(resource, hearing.table[resource]!);
  for (const [field, { name, isRequired }] of fields) {
    if (!isRequired || (value[field] ?? null) !== null) continue;
    hearing.refuse(`${name} is required and absent${whereIs(outer)}`);
  }
  for (const field in value) {
    const declared = fields.get(field);
    if (declared && (hearing.isReply || declared.allowance === undefined)) {
      judgeField(hearing, declared, value[field], { name: declared.name, field, outer });
    } else {
      const name = `${resource}.${field}`;
      hearing.refuse(`${name} is not declared${whereIs({ name, field, outer })}`);
    }
  }
}

function judgeField(hearing: Hearing, { type, allowance }: Field, value: unknown, at: Place): void {
  if (allowance !== undefined) hearing.allow(allowance);
  if (value === null) {
    if (hearing.isReply) hearing.allow('null');
    else hearing.refuse(`${at.name} is null`);
    return;
  }
  hearing.met(at.name);
  judgeValue(hearing, type, value, at);
}

function judgeValue(hearing: Hearing, type: Type, value: unknown, at: Place): void {
  if (type.kind === 'plain') {
    if (!type.fits(value)) wrongType(hearing, type.text, value, at);
    else if (at.field === 'href') judgeHref(hearing, value, at);
  } else if (type.kind === 'list') {
    if (!Array.isArray(value)) return wrongType(hearing, type.text, value, at);
    value.forEach((item, index) => judgeValue(hearing, type.of, item, { ...at, index }));
  } else if (!isObject(value)) wrongType(hearing, type.text, value, at);
  else if (type.kind === 'map') {
    for (const [index, item] of Object.entries(value)) {
      judgeValue(hearing, type.of, item, { ...at, index });
    }
  } else if (!opaque.has(type.text)) judgeResource(hearing, type.text, value, at);
}

function judgeResource(
  hearing: Hearing,
  resource: string,
  value: Readonly<Record<string, unknown>>,
  at: Place,
): void {
  const isHref = 'href' in value && Object.keys(value).length === 1;
  if (isHref && hearing.isReply && resource !== 'Href') {
    const mayBe = linked.has(at.name) || hearing.exclude.has(selectorOf(at));
    if (mayBe) judgeHref(hearing, value['href'], at);
    else hearing.refuse(`${at.name} is an href and nobody excluded it${whereIs(at)}`);
    return;
  }
  const opened = resource === 'Href' && !isHref ? openedBy[at.name] : undefined;
  if (opened === undefined || !isNamed(hearing.include, selectorOf(at))) {
    judgeFields(hearing, resource, value, at);
    return;
  }
  hearing.allow('opened');
  judgeOpened(hearing, opened, value, at);
}

/** The value is one of several resources: the one in which least is wrong. */
function judgeOpened(
  hearing: Hearing,
  resources: readonly string[],
  value: Readonly<Record<string, unknown>>,
  at: Place,
): void {
  const found = resources.map((resource) => {
    const problems: string[] = [];
    const refuse = (problem: string) => void problems.push(problem);
    judgeFields({ ...hearing, refuse }, resource, value, at);
    return problems;
  });
  for (const problem of found.toSorted((a, b) => a.length - b.length)[0]!) hearing.refuse(problem);
}

function judgeHref(hearing: Hearing, href: unknown, at: Place): void {
  if (typeof href === 'string' && href.startsWith('/')) hearing.allow('relativeHref');
  else if (typeof href !== 'string' || !URL.canParse(href)) wrongType(hearing, 'href', href, at);
}

function wrongType(hearing: Hearing, type: string, value: unknown, at: Place): void {
  const excuse = hearing.excuse(at.name, value);
  if (excuse) hearing.allow(excuse);
  else hearing.refuse(`${at.name} is to be ${type} and is ${kindOf(value)}${whereIs(at)}`);
}

/** Where a value is, for a reader: `devices[3].created_by`. */
function pathOf({ outer, field, index }: Place): string {
  const own = index === undefined ? field : `${field}[${index}]`;
  return outer ? `${pathOf(outer)}.${own}` : own;
}
const whereIs = (at: Place | null) => (at ? ` (at ${pathOf(at)})` : '');

/** As `include` and `exclude` name it: from the resource on, a list of which is left out. */
function selectorOf({ outer, field }: Place): string {
  const isOutermost = outer === null || /^\w+List\./.test(outer.name);
  return isOutermost ? field : `${selectorOf(outer)}.${field}`;
}
/** `include=a.b` opens `a`, too. */
const isNamed = (names: ReadonlySet<string>, selector: string): boolean =>
  names.has(selector) || [...names].some((name) => name.startsWith(`${selector}.`));

const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'a list' : value === undefined ? 'nothing' : JSON.stringify(value);
