import { type RegistryMessage, type MessageName, refusal, refusing } from '../messages.ts';

type InputJson = Readonly<Record<string, unknown>>;

/** What a value may be: of this type, null where that ends with `?`, or one of a list. */
export type ValueRule = 'string' | 'string?' | 'boolean' | 'object' | readonly string[];
export type Rules = Readonly<Record<string, ValueRule>>;

export const isObject = (value: unknown): value is InputJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws {Refusal} 400: the body is missing, or is no object. */
export function bodyOf({ body }: { readonly body: unknown }): InputJson {
  if (isObject(body)) return body;
  throw refusal(400, 'MalformedJSON');
}

function wrongWith(value: unknown, rule: ValueRule): 'TypeError' | 'NotInList' | null {
  if (typeof rule !== 'string') {
    if (typeof value !== 'string') return 'TypeError';
    return rule.includes(value) ? null : 'NotInList';
  }
  if (value === null) return rule.endsWith('?') ? null : 'TypeError';
  if (rule === 'object') return isObject(value) ? null : 'TypeError';
  return rule.startsWith(typeof value) ? null : 'TypeError';
}

/** A body and what may be, and has to be, in it. */
export interface CheckedInput {
  readonly input: InputJson;
  readonly rules: Rules;
  readonly required?: readonly string[];
  /** Of an action; else properties of a PATCH. */
  readonly action?: string;
  /** The resource as it is: what it shows and nobody may change is read only, not unknown. */
  readonly shownAs?: InputJson;
  /** JSON pointer of the object that is looked at. */
  readonly at?: string;
}

/** @throws {Refusal} 400: it is not as it may be. */
export function requireInput(given: CheckedInput): void {
  const { input, rules, required = [], action, shownAs = {}, at = '' } = given;
  const prefix = action === undefined ? 'Property' : 'ActionParameter';
  const where = action === undefined ? [] : [action];
  const of = (property: string, wrong: string, value?: unknown): RegistryMessage => ({
    name: `${prefix}${wrong}` as MessageName,
    args: value === undefined ? [...where, property] : [shown(value), property, ...where],
    about: [`#${at}/${property}`],
  });
  const wrong = Object.entries(input).flatMap(([property, value]): RegistryMessage[] => {
    const rule = rules[property];
    if (!rule) return [of(property, Object.hasOwn(shownAs, property) ? 'NotWritable' : 'Unknown')];
    const fault = wrongWith(value, rule);
    return fault ? [of(property, `Value${fault}`, value)] : [];
  });
  const absent = required.filter((name) => !(name in input)).map((name) => of(name, 'Missing'));
  if (absent.length + wrong.length > 0) throw refusing(400, [...absent, ...wrong]);
}

/** A value as a message shows it. */
const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
