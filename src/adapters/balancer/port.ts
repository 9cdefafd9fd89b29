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
 * A kind of load balancer: one folder with a `driver.ts`, and one line in `drivers.ts`.
 * `shepherd lb test` tells when it is done.
 */
export interface BalancerDriver<Settings = unknown> {
  /** What a configuration names in `driver:`; `^[a-z][a-z0-9-]{0,30}$`, unique. */
  readonly name: string;
  /** The driver's own keys of a configured balancer, as a strict zod object of leaves. */
  settings(around: Surroundings): z.ZodObject;
  /** Makes a balancer. Makes no call yet. @throws {UsageError} settings that contradict each other. */
  open(settings: Settings, context: BalancerContext): LoadBalancer;
  /**
   * What of its settings cannot work, as far as files tell, so that a mistake is told before anything
   * is started. Touches nothing, and asks nobody over a network. When absent: nothing is looked at.
   */
  check?(settings: Settings): Promise<readonly SettingComplaint[]>;
  /** The key by which two balancers of this driver are one and the same; null: they are not. */
  overlaps?(one: Settings, other: Settings): string | null;
}

/** What drivers count of their own requests. */
export type BalancerMetric = Extract<MetricName, `shepherd_lb_http_client_${string}`>;

/** What a driver is given besides its settings. */
export interface BalancerContext {
  /** Name of the configured balancer, for messages. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsOf<BalancerMetric>;
  /** For HTTP. */
  readonly userAgent: string;
  /** How it reaches others; TCP and TLS if absent. */
  readonly network?: Network | undefined;
}

/**
 * An external load balancer, as all pools see it that are served there. Its caller sees to it that
 * one process at a time writes; calls of several pools may overlap, and the driver puts them in order.
 *
 * Every method rejects with a `FleetError`: `Unreachable`, `TimedOut`, `Denied`, `Throttled` (with the
 * time from which the account may be asked again; until then every call is rejected the same without
 * asking), `Malformed`, `RemoteFailure` (understood and refused), `Cancelled` (the signal aborted).
 */
export interface LoadBalancer {
  readonly capabilities: BalancerCapabilities;
  /**
   * Everything of this owner, whatever its state, and what is nobody's but has our full name. Fails
   * as a whole when any part of it cannot be read: what is missing from the answer is not there.
   */
  observe(owner: PoolRef, options: BalancerLook): Promise<readonly Observed[]>;
  /**
   * Makes an object and marks it as the owner's. Retry-safe by exact name: one that is there with the
   * same spec and is not another owner's is marked, and is the answer.
   * @param parent of the kind that `PARENT_KIND` says; null where that is null.
   */
  create(desired: Desired, parent: Ref | null, owner: PoolRef, options: BalancerCall): Promise<Ref>;
  /** Marks an object that is nobody's as the owner's. Present where `capabilities.adopt` is. */
  adopt?(ref: Ref, owner: PoolRef, options: BalancerCall): Promise<void>;
  /** Makes an object as it is desired, in place, or asks for it again. Where `capabilities.update` is. */
  update?(
    ref: Ref,
    desired: Desired,
    parent: Ref | null,
    owner: PoolRef,
    options: BalancerCall,
  ): Promise<void>;
  /** What is not there any more is destroyed already. Whatever it still holds back is a failure. */
  destroy(ref: Ref, owner: PoolRef, options: BalancerCall): Promise<void>;
  /** How far one object is; `failed` for one that is gone. */
  refresh(ref: Ref, owner: PoolRef, options: BalancerCall): Promise<Phase>;
  /** Whether a server gets connections. Where `capabilities.drain` is `native`. `off` cuts those it has. */
  setMember?(ref: Ref, mode: ServerMode, owner: PoolRef, options: BalancerCall): Promise<void>;
  /** Ends what is under way, timers and sockets. Balancing goes on without us. Idempotent. */
  close(): Promise<void>;
}

export interface BalancerCapabilities {
  /** `update` works. */
  readonly update: boolean;
  /** `remove`: a server is drained by destroying it, and waiting the grace time. */
  readonly drain: 'native' | 'remove';
  /** `observe` tells connections of each server. */
  readonly sessions: boolean;
  /** `observe` tells the health of each server. */
  readonly health: boolean;
  /** Objects get ready a while after the call that makes them. */
  readonly async: boolean;
  /**
   * So many calls of one kind, for different objects of one pool, are best made together: they share
   * what each would need for itself. Together they take no more than a few seconds.
   */
  readonly atOnce: number;
  /** Objects may be there without a mark of their owner; `adopt` works. */
  readonly adopt: boolean;
}

export interface BalancerCall {
  readonly signal: AbortSignal;
}

export interface BalancerLook extends BalancerCall {
  /**
   * True: what an object holds may be told from memory, where it was ready when this process read it
   * and nothing was done to it here since. Which objects are there is read anew always. Otherwise, and
   * by drivers that remember nothing, everything is read anew, so that what others did is seen.
   */
  readonly mayRecall?: boolean;
}
