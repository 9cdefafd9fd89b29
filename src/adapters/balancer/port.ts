import type { z } from 'zod';
import type {
  Desired,
  Observed,
  Phase,
  PoolRef,
  Ref,
  ServerMode,
} from '../../domain/balancing/objects.ts';
import type { Surroundings } from '../../settings/secret.ts';
import type { Clock, Random } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Network } from '../network/port.ts';
import type { SettingComplaint } from '../provider/port.ts';
import type { MetricName, MetricsOf } from '../metrics/port.ts';

/**
 * A kind of load balancer: one folder with a `driver.ts`, and one line in `drivers.ts`. `shepherd
 * lb test` tells when the driver is complete.
 */
export interface BalancerDriver<Settings = unknown> {
  /** Value of `driver:` in a configuration; `^[a-z][a-z0-9-]{0,30}$`, unique. */
  readonly name: string;
  /** The driver's own keys of a configured balancer, as a strict zod object of leaves. */
  settings(around: Surroundings): z.ZodObject;
  /** Creates a balancer; makes no request. @throws {UsageError} settings contradict each other. */
  open(settings: Settings, context: BalancerContext): LoadBalancer;
  /**
   * Checks settings against files, so that mistakes show before anything starts. Changes nothing,
   * and uses no network. Absent: no check.
   */
  check?(settings: Settings): Promise<readonly SettingComplaint[]>;
  /** The key by which two balancers of this driver are the same; null if they are not. */
  overlaps?(one: Settings, other: Settings): string | null;
}

/** Metrics of drivers' own requests. */
export type BalancerMetric = Extract<MetricName, `shepherd_lb_http_client_${string}`>;

/** What a driver receives besides its settings. */
export interface BalancerContext {
  /** Name of the configured balancer, for messages. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsOf<BalancerMetric>;
  /** For HTTP. */
  readonly userAgent: string;
  /** Network access; TCP and TLS if absent. */
  readonly network?: Network | undefined;
}

/**
 * An external load balancer, as seen by all its pools. The caller ensures that only one process
 * writes at a time. Calls of several pools may overlap; the driver orders them.
 *
 * Every method rejects with a `FleetError`: `Unreachable`, `TimedOut`, `Denied`, `Throttled`,
 * `Malformed`, `RemoteFailure` (understood and refused), `Cancelled` (the signal aborted).
 * `Throttled` has the time from which requests are allowed again. Until then every call rejects the
 * same way without a request.
 */
export interface LoadBalancer {
  readonly capabilities: BalancerCapabilities;
  /**
   * Returns all objects of this owner, in any state, and unowned ones with our full name. Fails as
   * a whole if any part cannot be read: an object missing from the answer does not exist.
   */
  observe(owner: PoolRef, options: BalancerLook): Promise<readonly Observed[]>;
  /**
   * Creates an object and marks it as the owner's. Idempotent by exact name: an existing one with
   * the same spec and no other owner is marked and returned.
   * @param parent of the kind in `PARENT_KIND`; null if that is null.
   */
  create(desired: Desired, parent: Ref | null, owner: PoolRef, options: BalancerCall): Promise<Ref>;
  /** Marks an unowned object as the owner's. Requires `capabilities.adopt`. */
  adopt?(ref: Ref, owner: PoolRef, options: BalancerCall): Promise<void>;
  /**
   * Changes an object in place to the desired state, or requests that again. Requires
   * `capabilities.update`.
   */
  update?(
    ref: Ref,
    desired: Desired,
    parent: Ref | null,
    owner: PoolRef,
    options: BalancerCall,
  ): Promise<void>;
  /** A missing object is already destroyed. If anything still depends on it, the call fails. */
  destroy(ref: Ref, owner: PoolRef, options: BalancerCall): Promise<void>;
  /** Progress of one object; `failed` if it is gone. */
  refresh(ref: Ref, owner: PoolRef, options: BalancerCall): Promise<Phase>;
  /**
   * Sets whether a server gets connections. Requires `capabilities.drain` `native`. `off` cuts
   * existing ones.
   */
  setMember?(ref: Ref, mode: ServerMode, owner: PoolRef, options: BalancerCall): Promise<void>;
  /** Ends operations, timers and sockets. The balancer continues to work. Idempotent. */
  close(): Promise<void>;
}

export interface BalancerCapabilities {
  /** `update` works. */
  readonly update: boolean;
  /** `remove`: a drain destroys the server, and waits for the grace time. */
  readonly drain: 'native' | 'remove';
  /** `observe` reports each server's connections. */
  readonly sessions: boolean;
  /** `observe` reports each server's health. */
  readonly health: boolean;
  /** Objects become ready some time after the call that creates them. */
  readonly async: boolean;
  /**
   * Best number of concurrent calls of one kind for different objects of one pool: they share their
   * common work. Together they take a few seconds at most.
   */
  readonly atOnce: number;
  /** Objects may exist without an owner's mark; `adopt` works. */
  readonly adopt: boolean;
}

export interface BalancerCall {
  readonly signal: AbortSignal;
}

export interface BalancerLook extends BalancerCall {
  /**
   * True: contents of an object may come from memory, if it was ready when this process read it and
   * has not been changed here since. Which objects exist is always read again. Otherwise everything
   * is read again, to see others' changes; drivers without a memory always do so.
   */
  readonly mayRecall?: boolean;
}
