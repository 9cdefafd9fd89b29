import type { MachineId } from '../ids.ts';

/**
 * What one pool is at a balancer: for each of its ports a backend and a frontend, for each port and
 * address a bind, for each port and member a server. Names, fields and owners are those that every
 * driver uses; how an object is written down at its balancer is the driver's own business.
 */

/** Parents before children: a frontend refers to a backend, a bind to a frontend, a server to a backend. */
export const OBJECT_KINDS = ['backend', 'frontend', 'bind', 'server'] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** The kind that an object's parent has; null: it has none. */
export const PARENT_KIND: Readonly<Record<ObjectKind, ObjectKind | null>> = {
  backend: null,
  frontend: 'backend',
  bind: 'frontend',
  server: 'backend',
};

/** How a backend asks its servers whether they are well. */
export type HealthCheck =
  /** A connection is opened. */
  | { readonly by: 'tcp' }
  /** `GET path` is answered with a status below 400. */
  | { readonly by: 'http'; readonly path: string };

/** Paths that may be asked for: as they stand in a request, `%` only as an escape, and with no part after `#`. */
export const CHECK_PATH = /^\/(?:[A-Za-z0-9._~!&()*+,;=:@/?-]|%[0-9A-Fa-f]{2}){0,200}$/;

/** What is compared of an object. Addresses are in canonical form. Equal specs are one object. */
export type Spec =
  | { readonly kind: 'backend'; readonly name: string; readonly check: HealthCheck }
  | { readonly kind: 'frontend'; readonly name: string }
  | BindSpec
  | ServerSpec;
/** Where clients come in: an address and a port of the balancer. */
export interface BindSpec {
  readonly kind: 'bind';
  readonly name: string;
  readonly address: string;
  readonly number: number;
}
/** Where a member is reached: its address and the pool's internal port. */
export interface ServerSpec {
  readonly kind: 'server';
  readonly name: string;
  readonly address: string;
  readonly number: number;
}

/** An object that is to be there. */
export interface Desired {
  readonly spec: Spec;
  /** The pool's port that it serves: its parent is the object of the parent's kind with the same one. */
  readonly port: string;
  /** Of a server: whose. */
  readonly machineId?: MachineId;
}

/** How far the balancer is with an object. `failed`: it says itself that it could not deploy it. */
export type Phase = 'ready' | 'progressing' | 'failed';

/** Names an object at its balancer; the id means nothing elsewhere. */
export interface Ref {
  readonly kind: ObjectKind;
  readonly id: string;
}

/** Whether a server gets connections. `drain`: those that it has stay, new ones go elsewhere. */
export type ServerMode = 'active' | 'drain' | 'off';

/** What is seen of a server while it runs; absent where the balancer cannot tell. */
export interface ServerReading {
  readonly mode?: ServerMode;
  /** `unknown`: not checked yet. */
  readonly health?: 'up' | 'down' | 'unknown';
  /** Connections that it has now. */
  readonly sessions?: number;
}

/** Names an object of a pool. */
export const keyOf = (kind: ObjectKind, name: string): string => `${kind} ${name}`;

/** An object of ours that is there. */
export interface Observed {
  readonly ref: Ref;
  readonly spec: Spec;
  /** Id of its parent; null: it has none, or it cannot be read. */
  readonly parentId: string | null;
  readonly phase: Phase;
  /** What the balancer says of its state, for people. */
  readonly detail?: string;
  /** What of it is not as ours are, though no field of `spec` shows it, such as a check that is off. */
  readonly differs?: string;
  /** False: nobody's by its tag, ours by its full name. To be adopted, never to be taken for foreign. */
  readonly tagged: boolean;
  readonly server?: ServerReading;
}

/** Whose the objects are. */
export interface PoolRef {
  readonly pool: string;
  /** What the objects are tagged or marked with; never changes while the pool exists. */
  readonly uid: string;
  /** Last part of every name: `<pool>.<fleet>`. */
  readonly suffix: string;
}

/** Whether two specs are of one object. */
export function isSameSpec(a: Spec, b: Spec): boolean {
  if (a.kind !== b.kind || a.name !== b.name) return false;
  if (a.kind === 'backend') return b.kind === 'backend' && isSameCheck(a.check, b.check);
  if (a.kind === 'frontend') return true;
  return 'address' in b && a.address === b.address && a.number === b.number;
}

const isSameCheck = (a: HealthCheck, b: HealthCheck): boolean =>
  a.by === b.by && (a.by === 'tcp' || (b.by === 'http' && a.path === b.path));
