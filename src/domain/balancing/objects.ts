import type { MachineId } from '../ids.ts';

/**
 * The objects of one pool at a balancer. Each port has a backend and a frontend, each port and
 * address a bind, each port and member a server. All drivers use the same names, fields and owners.
 * Each driver decides how its balancer stores an object.
 */

/** Parents before children: a frontend refers to a backend, a bind to a frontend, a server to a backend. */
export const OBJECT_KINDS = ['backend', 'frontend', 'bind', 'server'] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** The kind of an object's parent; null: it has none. */
export const PARENT_KIND: Readonly<Record<ObjectKind, ObjectKind | null>> = {
  backend: null,
  frontend: 'backend',
  bind: 'frontend',
  server: 'backend',
};

/** How a backend checks the health of its servers. */
export type HealthCheck =
  /** The server accepts a connection. */
  | { readonly by: 'tcp' }
  /** The server answers `GET path` with a status below 400. */
  | { readonly by: 'http'; readonly path: string };

/** Valid check paths: as they appear in a request, `%` only in an escape, and no part after `#`. */
export const CHECK_PATH = /^\/(?:[A-Za-z0-9._~!&()*+,;=:@/?-]|%[0-9A-Fa-f]{2}){0,200}$/;

/** The compared fields of an object, addresses in canonical form. Equal specs mean one object. */
export type Spec =
  | { readonly kind: 'backend'; readonly name: string; readonly check: HealthCheck }
  | { readonly kind: 'frontend'; readonly name: string }
  | BindSpec
  | ServerSpec;
/** Where clients connect: an address and a port of the balancer. */
export interface BindSpec {
  readonly kind: 'bind';
  readonly name: string;
  readonly address: string;
  readonly number: number;
}
/** Where the balancer reaches a member: its address and the pool's internal port. */
export interface ServerSpec {
  readonly kind: 'server';
  readonly name: string;
  readonly address: string;
  readonly number: number;
}

/** An object that should exist. */
export interface Desired {
  readonly spec: Spec;
  /** The pool's port that it serves. Its parent serves the same port. */
  readonly port: string;
  /** The member of a server. */
  readonly machineId?: MachineId;
}

/** Progress of an object at its balancer. `failed`: the balancer could not deploy it. */
export type Phase = 'ready' | 'progressing' | 'failed';

/** Identifies an object at its balancer; the id has no meaning elsewhere. */
export interface Ref {
  readonly kind: ObjectKind;
  readonly id: string;
}

/** Whether a server gets connections. `drain`: existing connections stay, new ones go elsewhere. */
export type ServerMode = 'active' | 'drain' | 'off';

/** The observed state of a running server; absent where the balancer does not show it. */
export interface ServerReading {
  readonly mode?: ServerMode;
  /** `unknown`: not checked yet. */
  readonly health?: 'up' | 'down' | 'unknown';
  /** Connections that the server has now. */
  readonly sessions?: number;
}

/** Identifies an object of a pool. */
export const keyOf = (kind: ObjectKind, name: string): string => `${kind} ${name}`;

/** An existing object of ours. */
export interface Observed {
  readonly ref: Ref;
  readonly spec: Spec;
  /** Id of its parent; null: it has no parent, or the parent is unreadable. */
  readonly parentId: string | null;
  readonly phase: Phase;
  /** The balancer's text about its state, for people. */
  readonly detail?: string;
  /** A difference that no field of `spec` shows, such as a disabled check. */
  readonly differs?: string;
  /** False: the object has our full name but no owner tag. It is adopted, and is not foreign. */
  readonly tagged: boolean;
  readonly server?: ServerReading;
}

/** The owner of the objects. */
export interface PoolRef {
  readonly pool: string;
  /** The tag or mark of the objects; never changes while the pool exists. */
  readonly uid: string;
  /** Last part of every name: `<pool>.<fleet>`. */
  readonly suffix: string;
}

/** Whether two specs describe the same object. */
export function isSameSpec(a: Spec, b: Spec): boolean {
  if (a.kind !== b.kind || a.name !== b.name) return false;
  if (a.kind === 'backend') return b.kind === 'backend' && isSameCheck(a.check, b.check);
  if (a.kind === 'frontend') return true;
  return 'address' in b && a.address === b.address && a.number === b.number;
}

const isSameCheck = (a: HealthCheck, b: HealthCheck): boolean =>
  a.by === b.by && (a.by === 'tcp' || (b.by === 'http' && a.path === b.path));
