import { z } from 'zod';
import { canonicalAddress } from '../../../domain/balancing/pools.ts';
import type {
  HealthCheck,
  ObjectKind,
  Observed,
  Phase,
  Spec,
  Ref,
} from '../../../domain/balancing/objects.ts';
import type { Clock } from '../../clock/port.ts';

/** Ids of the Engine's resource types. */
export const TYPE_IDS: Readonly<Record<ObjectKind, string>> = {
  backend: '33164a3066a04a52be43c607f0c5dd8c',
  frontend: 'da9d14b9d95840c08213de67f9cee6e2',
  bind: 'bd24def982aa478fb3352cb5f49aab47',
  server: '01f321a4875446409d7d8469503a905f',
};

const text = z.union([z.string(), z.number()]).transform(String);
/** An object in answers, an id in requests; older answers may contain only the id. */
const link = z
  .union([text, z.object({ identifier: text.optional() }).transform((to) => to.identifier)])
  .transform((id) => (id === undefined || id === '' ? null : id))
  .optional();
const state = z.union([
  text.transform((id) => ({ id, says: '' })),
  z
    .object({ id: text.optional(), title: z.string().optional(), text: z.string().optional() })
    .transform(({ id = '', title, text: older }) => ({ id, says: title ?? older ?? '' })),
]);

/** An object of any of the four kinds, with the fields of all. */
export const engineObject = z.object({
  identifier: z.string().min(1),
  name: z.string(),
  // A malformed state counts as unknown.
  state: state.optional().catch(undefined),
  mode: z.string().optional(),
  health_check: z.string().optional(),
  load_balancer: link,
  default_backend: link,
  frontend: link,
  backend: link,
  address: z.string().optional(),
  ip: z.string().optional(),
  port: z.coerce.number().optional(),
  ssl: z.boolean().optional().catch(undefined),
  check: z.string().optional(),
});
export type EngineObject = z.output<typeof engineObject>;

/** Fields that are compared, or that give an object's place or progress. */
const LOOKED_AT = {
  backend: ['state', 'load_balancer', 'mode', 'health_check'],
  frontend: ['state', 'load_balancer', 'mode', 'default_backend'],
  bind: ['state', 'frontend', 'address', 'port', 'ssl'],
  server: ['state', 'backend', 'ip', 'port', 'check'],
} as const satisfies Record<ObjectKind, readonly (keyof EngineObject)[]>;

/** The object in a list's row, if the row has all fields that we read; otherwise null. */
export function wholeIn(kind: ObjectKind, row: unknown): EngineObject | null {
  const object = engineObject.safeParse(row).data;
  return object && LOOKED_AT[kind].every((field) => (object[field] ?? null) !== null)
    ? object
    : null;
}

const PHASES: Readonly<Record<string, Phase>> = {
  0: 'progressing',
  1: 'ready',
  2: 'failed',
  3: 'ready',
  4: 'progressing',
};

/** Uses only the state's id: a missing or unknown state is no failure. */
export const phaseOf = (object: EngineObject): Phase =>
  PHASES[object.state?.id ?? ''] ?? 'progressing';

const PARENT_FIELDS = {
  backend: null,
  frontend: 'default_backend',
  bind: 'frontend',
  server: 'backend',
} as const satisfies Record<ObjectKind, keyof EngineObject | null>;

export function parentOf(kind: ObjectKind, object: EngineObject): string | null {
  const field = PARENT_FIELDS[kind];
  return field === null ? null : (object[field] ?? null);
}

/** The object's place: the load balancer for the upper two kinds, else the parent. */
export function placeOf(kind: ObjectKind, object: EngineObject): string | null {
  const isTop = kind === 'backend' || kind === 'frontend';
  return isTop ? (object.load_balancer ?? null) : parentOf(kind, object);
}

/** An object of the Engine in the port's form. */
export function observedOf(kind: ObjectKind, object: EngineObject, tagged: boolean): Observed {
  const differs = differencesOf(kind, object).join(', ');
  const says = object.state?.says ?? '';
  return {
    ref: { kind, id: object.identifier },
    spec: specOf(kind, object),
    parentId: parentOf(kind, object),
    phase: phaseOf(object),
    ...(says !== '' && { detail: says }),
    ...(differs !== '' && { differs }),
    tagged,
  };
}

export function specOf(kind: ObjectKind, object: EngineObject): Spec {
  const { name, port = 0 } = object;
  const told = (kind === 'bind' ? object.address : object.ip) ?? '';
  const address = canonicalAddress(told) ?? told;
  if (kind === 'backend') return { kind, name, check: checkIn(object.health_check) ?? TCP };
  if (kind === 'frontend') return { kind, name };
  return { kind, name, address, number: port };
}

/** Differences from our objects that no spec contains. */
function differencesOf(kind: ObjectKind, object: EngineObject): string[] {
  const { mode, health_check: check, ssl, check: isChecked } = object;
  const layered = kind === 'backend' || kind === 'frontend';
  return [
    ...(layered && mode !== 'tcp' ? [`its mode is ${mode ?? 'not told'}`] : []),
    ...(kind === 'backend' && checkIn(check) === null
      ? ['its health check is not one of ours']
      : []),
    ...(kind === 'bind' && ssl === true ? ['it speaks TLS'] : []),
    ...(kind === 'server' && isChecked !== 'enabled'
      ? [`its check is ${isChecked ?? 'not told'}`]
      : []),
  ];
}

const TCP: HealthCheck = { by: 'tcp' };
const checkForm = z.union([
  z.strictObject({ adv_check: z.literal('tcp-check') }).transform((): HealthCheck => TCP),
  z
    .strictObject({ httpchk: z.strictObject({ method: z.literal('GET'), uri: z.string() }) })
    .transform(({ httpchk }): HealthCheck => ({ by: 'http', path: httpchk.uri })),
]);

/** A health check is the inside of a JSON object, without braces. Null if it is not ours. */
function checkIn(fragment = ''): HealthCheck | null {
  try {
    return checkForm.safeParse(JSON.parse(`{${fragment}}`)).data ?? null;
  } catch {
    return null;
  }
}

const fragmentOf = (check: HealthCheck): string =>
  check.by === 'tcp'
    ? '"adv_check": "tcp-check"'
    : `"httpchk": { "method": "GET", "uri": ${JSON.stringify(check.path)} }`;

/** Body of a creation: links are plain ids, and there is no state. */
export function bodyOf(spec: Spec, parentId: string | null, loadBalancer: string) {
  const { name } = spec;
  switch (spec.kind) {
    case 'backend':
      return {
        name,
        health_check: fragmentOf(spec.check),
        mode: 'tcp',
        load_balancer: loadBalancer,
      };
    case 'frontend':
      return { name, mode: 'tcp', load_balancer: loadBalancer, default_backend: parentId };
    case 'bind':
      return { name, address: spec.address, port: spec.number, ssl: false, frontend: parentId };
    case 'server':
      return { name, ip: spec.address, port: spec.number, check: 'enabled', backend: parentId };
  }
}

export type Readings = ReturnType<typeof createReadings>;

/** Maximum lag of lists. */
const LAG_MS = 10 * 60_000;

interface Deed {
  readonly serial: number;
  readonly atMs: number;
  /** Created and unchanged since: it had no earlier form. */
  readonly isMade: boolean;
}

/**
 * Objects that this process has read, so that a read after its own changes need not read all again.
 * An object stays while it was ready when read, and this process has not changed it since. It does
 * not prove existence; lists do.
 */
export function createReadings(clock: Pick<Clock, 'monotonic'>) {
  const read = new Map<string, { readonly owner: string; readonly object: EngineObject }>();
  const deeds = new Map<string, Deed>();
  let serial = 0;

  function note({ id }: Ref, isMade: boolean): void {
    read.delete(id);
    serial += 1;
    deeds.set(id, { serial, atMs: clock.monotonic(), isMade });
  }

  return {
    /** Call before a read: a later change makes the read stale. */
    mark: (): number => serial,
    /** Stores what was read if it is usable; always drops the earlier value. */
    keep(owner: string, object: EngineObject, since: number): void {
      const { identifier: id } = object;
      const isOld = (deeds.get(id)?.serial ?? 0) > since;
      if (isOld || phaseOf(object) !== 'ready') read.delete(id);
      else read.set(id, { owner, object });
    },
    /** The last read; null: it must be read. */
    recall: (id: string): EngineObject | null => read.get(id)?.object ?? null,
    /** It is being changed, was changed, or is gone. */
    changed: (ref: Ref): void => note(ref, false),
    /** It was just created. */
    made: (ref: Ref): void => note(ref, true),
    /** Whether a list may be older than our own change. */
    isDoubtful(object: EngineObject): boolean {
      const deed = deeds.get(object.identifier);
      if (!deed || clock.monotonic() - deed.atMs > LAG_MS) return false;
      return !deed.isMade || phaseOf(object) !== 'ready';
    },
    /** Drops the owner's objects that are not among these. */
    retain(owner: string, ids: ReadonlySet<string>): void {
      for (const [id, reading] of read)
        if (reading.owner === owner && !ids.has(id)) read.delete(id);
      for (const [id, { atMs }] of deeds) if (clock.monotonic() - atMs > LAG_MS) deeds.delete(id);
    },
  };
}
