import { readFile } from 'node:fs/promises';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { extendCatalogue } from './state/catalogue.ts';
import { given, knobsSchema, timingsSchema } from './state/knobs.ts';
import { sshKeyProblem } from './state/ssh-key-text.ts';

const name = z.string().min(1);
const id = z.uuid().transform((value) => value.toLowerCase());
const created = z.iso.datetime({ offset: true }).transform((value) => Date.parse(value));

/** One reservation; what is left out gets a default. */
export const reservationSchema = z.strictObject({
  id: id.optional(),
  project: name.optional(),
  plan: name.optional(),
  facility: name.optional(),
  createdAt: created.optional(),
  provisionable: z.boolean().optional(),
  spare: z.boolean().optional(),
  needOfService: z.boolean().optional(),
  terminationTime: created.optional(),
});

const reservation = reservationSchema.extend({
  /** How many alike; not together with `id`. */
  count: z.int().min(1).max(100_000).optional(),
});

const device = z.strictObject({
  id: id.optional(),
  hostname: z.string().regex(/^[A-Za-z0-9.-]+$/, 'may hold only letters, digits, "." and "-"'),
  project: name.optional(),
  /** Id of a reservation listed in this world. */
  reservation: id.optional(),
  plan: name.optional(),
  facility: name.optional(),
  operatingSystem: name.optional(),
  state: z.enum(['active', 'inactive', 'failed']).optional(),
  createdAt: created.optional(),
  tags: z.array(z.string()).optional(),
  locked: z.boolean().optional(),
});

const schema = z.strictObject({
  knobs: knobsSchema.transform(given).optional(),
  /** Milliseconds, taken as they are whatever the profile. */
  timings: timingsSchema.transform(given).optional(),
  organizations: z.array(z.strictObject({ id: id.optional(), name })).optional(),
  projects: z
    .array(z.strictObject({ id: id.optional(), name, organization: name.optional() }))
    .optional(),
  tokens: z
    .array(
      z.strictObject({
        token: z.string().min(8),
        scope: z.enum(['user', 'project', 'readOnly']),
        organization: name.optional(),
        project: name.optional(),
      }),
    )
    .optional(),
  plans: z.array(z.strictObject({ slug: name, name: name.optional() })).optional(),
  operatingSystems: z.array(z.strictObject({ slug: name, name: name.optional() })).optional(),
  metros: z
    .array(z.strictObject({ code: name, name: name.optional(), country: name.optional() }))
    .optional(),
  facilities: z
    .array(z.strictObject({ code: name, name: name.optional(), metro: name }))
    .optional(),
  reservations: z
    .union([z.int().min(0).max(100_000), z.array(reservation)], {
      error: 'expected a number of reservations or a list of them',
    })
    .optional(),
  devices: z.array(device).optional(),
  keys: z
    .array(
      z.strictObject({ id: id.optional(), label: name, key: z.string(), project: name.optional() }),
    )
    .optional(),
});

/** What exists when a world names no organisation or no project. */
export const DEFAULT_ORGANIZATIONS: NonNullable<World['organizations']> = [{ name: 'Fakequinix' }];
export const DEFAULT_PROJECTS: NonNullable<World['projects']> = [{ name: 'fleet' }];

/** A world description as validated by {@link parseWorld}. Everything in it is optional. */
export type World = z.output<typeof schema>;

/** A world description that cannot be used; every mistake, each with the path of its place. */
export class WorldError extends Error {
  readonly problems: readonly string[];
  constructor(source: string, problems: readonly string[], options?: ErrorOptions) {
    super(`${source}: ${problems.join('; ')}`, options);
    this.problems = problems;
  }
}

/**
 * Checks a world description: form first, then what it refers to.
 * @throws {WorldError} listing every mistake, each as `path: what is wrong`.
 */
export function parseWorld(input: unknown, source = 'world description'): World {
  const parsed = schema.safeParse(input ?? {});
  if (!parsed.success) {
    throw new WorldError(
      source,
      parsed.error.issues.flatMap((issue) => describe(issue, [])),
    );
  }
  const problems = referenceProblems(parsed.data);
  if (problems.length > 0) throw new WorldError(source, problems);
  return parsed.data;
}

/** Reads YAML or JSON. @throws {WorldError} when it cannot be read, parsed or used. */
export async function readWorldFile(path: string): Promise<World> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new WorldError(path, ['cannot be read'], { cause: error });
  }
  try {
    return parseWorld(parseYaml(text), path);
  } catch (error) {
    if (error instanceof WorldError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new WorldError(path, [`is neither YAML nor JSON: ${message}`], { cause: error });
  }
}

/** One line per mistake. A list that failed every branch of a union shows its items' mistakes. */
function describe(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): string[] {
  const at = [...above, ...issue.path];
  const inner = issue.code === 'invalid_union' ? issue.errors.find(isAboutContents) : undefined;
  if (inner) return inner.flatMap((one) => describe(one, at));
  return [`${pathText(at)}: ${issue.message}`];
}
const isAboutContents = (issues: readonly z.core.$ZodIssue[]) =>
  issues.some((issue) => issue.path.length > 0);

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
  return text.join('').replace(/^\./, '') || '(top)';
}

function referenceProblems(world: World): string[] {
  const catalogue = extendCatalogue(additionsOf(world));
  const names = {
    organization: namesOf(world.organizations ?? DEFAULT_ORGANIZATIONS),
    project: namesOf(world.projects ?? DEFAULT_PROJECTS),
    plan: new Set(catalogue.plans.map((plan) => plan.slug)),
    facility: new Set(catalogue.facilities.map((facility) => facility.code)),
    metro: new Set(catalogue.metros.map((metro) => metro.code)),
    operatingSystem: new Set(catalogue.operatingSystems.map((system) => system.slug)),
  };
  const listed = Array.isArray(world.reservations) ? world.reservations : [];
  const problems: string[] = [];
  const check = (at: string, item: Record<string, unknown>) => {
    for (const [kind, known] of Object.entries(names)) {
      const value = item[kind];
      if (typeof value === 'string' && !known.has(value)) {
        problems.push(`${at}.${kind}: unknown ${kind} "${value}"`);
      }
    }
  };
  for (const [listName, list] of Object.entries({ ...world, reservations: listed })) {
    if (Array.isArray(list)) list.forEach((item, i) => check(`${listName}[${i}]`, item));
  }
  return [
    ...problems,
    ...duplicates(world, listed),
    ...countedIds(listed),
    ...deviceProblems(world, listed),
    ...keyProblems(world),
  ];
}

const namesOf = (list: readonly { id?: string | undefined; name: string }[]) =>
  new Set(list.flatMap((item) => (item.id ? [item.id, item.name] : [item.name])));

type Listed = Extract<World['reservations'], readonly unknown[]>;

const countedIds = (listed: Listed) =>
  listed.flatMap((item, i) =>
    item.id && item.count ? [`reservations[${i}].count: cannot go together with an id`] : [],
  );

function duplicates(world: World, listed: Listed): string[] {
  const lists = {
    organizations: ['name', world.organizations],
    projects: ['name', world.projects],
    tokens: ['token', world.tokens],
    reservations: ['id', listed],
    devices: ['id', world.devices],
  } as const;
  return Object.entries(lists).flatMap(([listName, [field, list]]) => {
    const seen = new Set<unknown>();
    return (list ?? []).flatMap((item: Record<string, unknown>, i: number) => {
      const value = item[field];
      const repeated = value !== undefined && seen.has(value);
      seen.add(value);
      return repeated ? [`${listName}[${i}].${field}: appears twice`] : [];
    });
  });
}

function deviceProblems(world: World, listed: Listed): string[] {
  const occupied = new Set<string>();
  const byId = new Map(listed.map((one) => [one.id, one]));
  return (world.devices ?? []).flatMap((item, i) => {
    if (!item.reservation) return [];
    const at = `devices[${i}].reservation`;
    const found = byId.get(item.reservation);
    if (!found) return [`${at}: no reservation with id ${item.reservation} in this world`];
    if (occupied.has(item.reservation)) return [`${at}: already has a device`];
    occupied.add(item.reservation);
    const fits = item.project === undefined || item.project === found.project;
    return fits ? [] : [`${at}: belongs to another project`];
  });
}

const keyProblems = (world: World) =>
  (world.keys ?? []).flatMap((item, i) => {
    const problem = sshKeyProblem(item.key);
    return problem ? [`keys[${i}].key: ${problem}`] : [];
  });

/** The parts of a world that extend the catalogue. */
export const additionsOf = (world: World) => ({
  plans: world.plans ?? [],
  operatingSystems: world.operatingSystems ?? [],
  metros: world.metros ?? [],
  facilities: world.facilities ?? [],
});
