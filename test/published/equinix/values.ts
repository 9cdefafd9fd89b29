import { isIPv4 } from 'node:net';
import { linked, openedBy, undeclaredFields, type Allowance } from './allowances.ts';
import { opaque, type Fields } from './resources.ts';

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

/** The field that holds a value. */
interface Place {
  /** `Device.created_by` */
  readonly name: string;
  /** Where it is, for a reader: `devices[3].created_by`. */
  readonly path: string;
  /** Where it is for `include` and `exclude`: below the resource, dotted. */
  readonly selector: string;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const FORMATS: ReadonlyMap<string, (value: unknown) => boolean> = new Map<
  string,
  (value: unknown) => boolean
>([
  ['any', () => true],
  ['text', isText],
  ['uuid', (value) => isText(value) && UUID.test(value)],
  ['time', (value) => isText(value) && TIME.test(value) && !Number.isNaN(Date.parse(value))],
  ['date', (value) => isText(value) && /^\d{4}-\d\d-\d\d$/.test(value)],
  ['ipv4', (value) => isText(value) && isIPv4(value)],
  ['boolean', (value) => typeof value === 'boolean'],
  ['integer', (value) => Number.isInteger(value)],
  ['number', (value) => typeof value === 'number'],
  ['object', isObject],
]);

/** Judges a whole body: a resource or an input. */
export function judgeBody(hearing: Hearing, type: string, body: unknown): void {
  if (isObject(body)) judgeFields(hearing, type, body, { path: '', selector: '' });
  else hearing.refuse(`${type} is expected and ${kindOf(body)} is there`);
}

function judgeFields(
  hearing: Hearing,
  type: string,
  value: Readonly<Record<string, unknown>>,
  at: Pick<Place, 'path' | 'selector'>,
): void {
  const fields = hearing.table[type]!;
  for (const [field, declared] of Object.entries(fields)) {
    if (!declared.endsWith('!') || (value[field] ?? null) !== null) continue;
    hearing.refuse(`${type}.${field} is required and absent${whereIs(at.path)}`);
  }
  for (const [field, inner] of Object.entries(value)) {
    const name = `${type}.${field}`;
    const place = {
      name,
      path: at.path === '' ? field : `${at.path}.${field}`,
      selector: LISTS.has(type) ? '' : join(at.selector, field),
    };
    const undeclared = hearing.isReply ? undeclaredFields[name] : undefined;
    if (undeclared) hearing.allow(undeclared.allowance);
    const declared = fields[field] ?? undeclared?.type;
    if (declared === undefined) hearing.refuse(`${name} is not declared${whereIs(place.path)}`);
    else judgeValue(hearing, declared.replace(/!$/, ''), inner, place);
  }
}

function judgeValue(hearing: Hearing, type: string, value: unknown, place: Place): void {
  if (value === null) {
    const allowance = hearing.isReply ? 'null' : NULL_SENT.get(place.name);
    if (allowance) hearing.allow(allowance);
    else hearing.refuse(`${place.name} is null`);
    return;
  }
  if (type.startsWith('[')) {
    if (!Array.isArray(value)) return wrongType(hearing, type, value, place);
    hearing.met(place.name);
    value.forEach((item, i) => {
      judgeItem(hearing, type.slice(1, -1), item, { ...place, path: `${place.path}[${i}]` });
    });
    return;
  }
  hearing.met(place.name);
  judgeItem(hearing, type, value, place);
}

function judgeItem(hearing: Hearing, type: string, value: unknown, place: Place): void {
  const fits = FORMATS.get(type) ?? oneOf(type);
  if (fits) {
    if (!fits(value)) return wrongType(hearing, type, value, place);
    if (place.name.endsWith('.href')) judgeHref(hearing, value, place);
  } else if (!isObject(value)) wrongType(hearing, type, value, place);
  else if (!opaque.has(type)) judgeResource(hearing, type, value, place);
}

/** One of the listed texts or numbers. */
function oneOf(type: string): ((value: unknown) => boolean) | undefined {
  if (!/^[=#]/.test(type)) return undefined;
  const values = new Set<unknown>(
    type.startsWith('#') ? type.slice(1).split('|').map(Number) : type.slice(1).split('|'),
  );
  return (value) => values.has(value);
}

function judgeResource(
  hearing: Hearing,
  type: string,
  value: Readonly<Record<string, unknown>>,
  place: Place,
): void {
  const isHref = Object.keys(value).join() === 'href';
  if (isHref && hearing.isReply && type !== 'Href') {
    const mayBe = linked.has(place.name) || hearing.exclude.has(place.selector);
    if (mayBe) judgeHref(hearing, value['href'], place);
    else hearing.refuse(`${place.name} is an href and nobody excluded it${whereIs(place.path)}`);
    return;
  }
  const opened = type === 'Href' && !isHref ? openedBy[place.name] : undefined;
  if (opened === undefined || !isNamed(hearing.include, place.selector)) {
    judgeFields(hearing, type, value, place);
    return;
  }
  hearing.allow('opened');
  judgeOpened(hearing, opened, value, place);
}

/** The value is one of several resources: the one in which least is wrong. */
function judgeOpened(
  hearing: Hearing,
  types: readonly string[],
  value: Readonly<Record<string, unknown>>,
  place: Place,
): void {
  const found = types.map((type) => {
    const problems: string[] = [];
    judgeFields({ ...hearing, refuse: (one) => problems.push(one) }, type, value, place);
    return problems;
  });
  for (const problem of found.toSorted((a, b) => a.length - b.length)[0]!) hearing.refuse(problem);
}

function judgeHref(hearing: Hearing, href: unknown, place: Place): void {
  if (isText(href) && href.startsWith('/')) hearing.allow('relativeHref');
  else if (!isText(href) || !URL.canParse(href)) wrongType(hearing, 'href', href, place);
}

/** Lists begin a resource: what is included is named from there. */
const LISTS: ReadonlySet<string> = new Set([
  'DeviceList',
  'EventList',
  'FacilityList',
  'HardwareReservationList',
  'IPAssignmentList',
  'MetroList',
  'OperatingSystemList',
  'OrganizationList',
  'PlanList',
  'ProjectList',
  'SSHKeyList',
]);
const NULL_SENT: ReadonlyMap<string, Allowance> = new Map([
  ['SSHKeyCreateInput.instances_ids', 'nullInstances'],
]);

/** `include=a.b` opens `a`, too. */
const isNamed = (names: ReadonlySet<string>, selector: string): boolean =>
  names.has(selector) || [...names].some((name) => name.startsWith(`${selector}.`));
const join = (outer: string, field: string) => (outer === '' ? field : `${outer}.${field}`);
const whereIs = (path: string) => (path === '' ? '' : ` (at ${path})`);
const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'a list' : value === undefined ? 'nothing' : JSON.stringify(value);

function wrongType(hearing: Hearing, type: string, value: unknown, { name, path }: Place): void {
  const excuse = hearing.excuse(name, value);
  if (excuse) hearing.allow(excuse);
  else hearing.refuse(`${name} is to be ${type} and is ${kindOf(value)}${whereIs(path)}`);
}
