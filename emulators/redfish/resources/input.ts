import { type RegistryMessage, type MessageName, refusal, refusing } from '../messages.ts';

type InputJson = Readonly<Record<string, unknown>>;

/** Allowed values: of this type, null where it ends with `?`, or one of a list. */
export type ValueRule = 'string' | 'string?' | 'boolean' | 'object' | readonly string[];
export type Rules = Readonly<Record<string, ValueRule>>;

export const isObject = (value: unknown): value is InputJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws {ApiRefusal} 400: the body is missing, or is not an object. */
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

/** A body with its allowed and required fields. */
export interface CheckedInput {
  readonly input: InputJson;
  readonly rules: Rules;
  readonly required?: readonly string[];
  /** Name of an action; otherwise the properties of a PATCH. */
  readonly action?: string;
  /** The resource itself: visible fields that nobody may change are read-only, not unknown. */
  readonly shownAs?: InputJson;
  /** JSON pointer of the checked object. */
  readonly at?: string;
}

/** @throws {ApiRefusal} 400: the input is invalid. */
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

/** A value in the form of messages. */
const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
