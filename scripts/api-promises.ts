/*
 * The promises of the API's description to existing programs, as lines of text: a missing line
 * later means that something was removed or narrowed. `npm run api` only ever adds lines.
 */

type Schema = Readonly<Record<string, unknown>>;
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** Limits of size, length and form, for input only. */
const LIMITS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern'];

/** Sorted. */
export function promisesOf({ paths, components }: Description): string[] {
  const told = new Set<string>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      addOperation(told, `${method.toUpperCase()} ${path}`, operation);
    }
  }
  for (const [name, schema] of Object.entries(components.schemas)) {
    // The description names input schemas differently.
    addSchema(told, name, schema, name.endsWith('Input'));
  }
  return [...told].toSorted();
}

function addOperation(told: Set<string>, name: string, operation: Operation): void {
  const { parameters = [], requestBody, responses } = operation;
  told.add(name);
  const required = parameters.filter((each) => each.required).map((each) => each.name);
  told.add(`${name} demands ${required.toSorted().join(', ') || 'nothing'}`);
  for (const each of parameters)
    addSchema(told, `${name} ${each.in} ${each.name}`, each.schema, true);
  for (const [media, { schema }] of Object.entries(requestBody?.content ?? {})) {
    addSchema(told, `${name} takes ${media}`, schema, true);
  }
  for (const [status, { content }] of Object.entries(responses)) {
    told.add(`${name} answers ${status}`);
    for (const [media, { schema }] of Object.entries(content ?? {})) {
      addSchema(told, `${name} answers ${status} ${media}`, schema, false);
    }
  }
}

/** @param isIn true for input, which later versions must accept; else they must send it. */
function addSchema(told: Set<string>, at: string, schema: Schema, isIn: boolean): void {
  const { $ref, type, enum: values, properties, required, items, additionalProperties } = schema;
  if (typeof $ref === 'string') told.add(`${at}: ${$ref.split('/').at(-1)}`);
  if (type !== undefined) told.add(`${at}: ${JSON.stringify(type)}`);
  for (const value of (values as readonly unknown[] | undefined) ?? []) {
    told.add(`${at} may be ${String(value)}`);
  }
  if (schema['const'] !== undefined) told.add(`${at} may be ${String(schema['const'])}`);
  const limits = LIMITS.filter((limit) => isIn && schema[limit] !== undefined);
  for (const limit of limits) told.add(`${at} ${limit} ${String(schema[limit])}`);
  const needed = (required as readonly string[] | undefined) ?? [];
  if (isIn && properties) told.add(`${at} demands ${needed.toSorted().join(', ') || 'nothing'}`);
  for (const [name, part] of Object.entries((properties ?? {}) as Record<string, Schema>)) {
    if (!isIn && needed.includes(name)) told.add(`${at}.${name} is always told`);
    addSchema(told, `${at}.${name}`, part, isIn);
  }
  if (items) addSchema(told, `${at}[]`, items as Schema, isIn);
  if (typeof additionalProperties === 'object' && additionalProperties !== null) {
    addSchema(told, `${at}{}`, additionalProperties as Schema, isIn);
  }
  for (const part of [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]) {
    // Each alternative is a part of its own, identified by its verb or type.
    for (const kind of kindsOf(part)) addSchema(told, `${at}${kind}`, part, isIn);
  }
  for (const part of listOf(schema['allOf'])) addSchema(told, at, part, isIn);
}

const listOf = (value: unknown): readonly Schema[] => (value ?? []) as readonly Schema[];

function kindsOf({ properties }: Schema): string[] {
  const { verb, type } = (properties ?? {}) as Readonly<Record<string, Schema>>;
  const told = verb ?? type;
  const values = told?.['const'] === undefined ? listOf(told?.['enum']) : [told['const']];
  return values.length === 0 ? [''] : values.map((value) => `<${String(value)}>`);
}
