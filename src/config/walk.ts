import type { z } from 'zod';

/** The used part of a zod schema's definition. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly valueType?: z.ZodType;
  /** Of a list. */
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly discriminator?: string;
  readonly entries?: Readonly<Record<string, string>>;
  readonly defaultValue?: unknown;
}
const definitionOf = (schema: z.ZodType) => schema.def as unknown as Definition;

/** A schema without its wrappers (default, optional, transform), and their information. */
export interface Unwrapped {
  readonly schema: z.ZodType;
  readonly required: boolean;
  readonly defaultValue: unknown;
  /** From the leaf's `.meta()`; empty for a section. */
  readonly type: string;
  readonly meaning: string;
  /** Key that distinguishes a section's variants; else empty. */
  readonly discriminator: string;
}

/** Unwraps defaults, optionals and transforms down to the section or leaf. */
export function unwrap(wrapped: z.ZodType): Unwrapped {
  let found: Unwrapped = {
    schema: wrapped,
    required: true,
    defaultValue: undefined,
    type: '',
    meaning: '',
    discriminator: '',
  };
  for (let schema: z.ZodType | undefined = wrapped; schema;) {
    const definition = definitionOf(schema);
    const meta = schema.meta();
    found = {
      schema,
      required: found.required && !['optional', 'prefault', 'default'].includes(definition.type),
      defaultValue: found.defaultValue ?? definition.defaultValue,
      type: found.type || String(meta?.['type'] ?? ''),
      meaning: found.meaning || (meta?.description ?? ''),
      discriminator: definition.discriminator ?? '',
    };
    schema = definition.innerType ?? definition.in;
  }
  return found;
}

/**
 * Children of a section by key; `<name>` stands for the keys of a map. For variants, their common
 * keys. Empty for a leaf.
 */
export function childrenOf(section: z.ZodType): ReadonlyMap<string, z.ZodType> {
  const definition = definitionOf(unwrap(section).schema);
  if (definition.shape) return new Map(Object.entries(definition.shape));
  if (definition.valueType) return new Map([['<name>', definition.valueType]]);
  const [first, ...others] = (definition.options ?? []).map(childrenOf);
  const shared = [...(first ?? [])].filter(([key]) => others.every((other) => other.has(key)));
  return new Map(shared);
}

/** The variants of a section by the value of their discriminator. */
export function variantsOf(section: z.ZodType): ReadonlyMap<string, z.ZodType> {
  const { schema, discriminator } = unwrap(section);
  const { options = [] } = definitionOf(schema);
  return new Map(
    options.flatMap((option) => {
      const told = childrenOf(option).get(discriminator);
      const values = told ? Object.values(definitionOf(unwrap(told).schema).entries ?? {}) : [];
      return values.map((value): [string, z.ZodType] => [value, option]);
    }),
  );
}

/**
 * The schema of the section, leaf or list item at a path of the configuration. `value` is the whole
 * configuration as written, and selects among variants.
 */
export function schemaAt(
  root: z.ZodType,
  path: readonly PropertyKey[],
  value: unknown,
): z.ZodType | undefined {
  let at = value;
  let schema: z.ZodType | undefined = variantOf(root, at);
  for (const key of path) {
    const children: ReadonlyMap<string, z.ZodType> | undefined = schema && childrenOf(schema);
    at = (at as Record<PropertyKey, unknown> | null | undefined)?.[key];
    const child: z.ZodType | undefined =
      children?.get(String(key)) ?? children?.get('<name>') ?? (schema && elementOf(schema));
    schema = child && variantOf(child, at);
  }
  return schema;
}

const elementOf = (list: z.ZodType) => definitionOf(unwrap(list).schema).element;

function variantOf(schema: z.ZodType, value: unknown): z.ZodType {
  const { discriminator } = unwrap(schema);
  if (discriminator === '') return schema;
  const chosen = (value as Record<string, unknown> | null | undefined)?.[discriminator];
  return variantsOf(schema).get(String(chosen)) ?? schema;
}
