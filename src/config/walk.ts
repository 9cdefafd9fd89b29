import type { z } from 'zod';

/** The part of a zod schema's definition that a walk over it looks at. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly defaultValue?: unknown;
}
const definitionOf = (schema: z.ZodType) => schema.def as unknown as Definition;

/** A schema without its wrappers (default, optional, transform), and what they said. */
export interface Unwrapped {
  readonly schema: z.ZodType;
  readonly required: boolean;
  readonly defaultValue: unknown;
  /** From the leaf's own `.meta()`; empty for a section. */
  readonly type: string;
  readonly meaning: string;
}

/** Looks through defaults, optionals and transforms to the section or leaf itself. */
export function unwrap(wrapped: z.ZodType): Unwrapped {
  let found: Unwrapped = {
    schema: wrapped,
    required: true,
    defaultValue: undefined,
    type: '',
    meaning: '',
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
    };
    schema = definition.innerType ?? definition.in;
  }
  return found;
}

/** Children of a section by key; `<name>` stands for the keys of a map. Empty for a leaf. */
export function childrenOf(section: z.ZodType): ReadonlyMap<string, z.ZodType> {
  const definition = definitionOf(unwrap(section).schema);
  if (definition.shape) return new Map(Object.entries(definition.shape));
  if (definition.valueType) return new Map([['<name>', definition.valueType]]);
  const options = definition.options ?? [];
  return new Map(options.flatMap((option) => [...childrenOf(option)]));
}

/** The schema of the section or leaf at a path of the configuration. */
export function schemaAt(root: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  return path.reduce<z.ZodType | undefined>((schema, key) => {
    const children = schema && childrenOf(schema);
    return children?.get(String(key)) ?? children?.get('<name>');
  }, root);
}
