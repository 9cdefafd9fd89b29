import type { Witness } from '../../domain/ids.ts';
import type { ProviderMachine } from '../../domain/machine.ts';

/**
 * Hardware as one vendor (or one inventory) shows it. Drivers never write the BMDB. Every
 * implementation passes `test/contracts/provider.ts`. All methods are safe to call concurrently,
 * end at the signal with `Cancelled`, and throw `Unreachable`, `TimedOut`, `Denied`, `Throttled`,
 * `Malformed` as the case may be.
 */
export interface Provider {
  /** The driver's name, such as `equinix`. */
  readonly type: string;
  readonly capabilities: { readonly reboot: boolean };
  /**
   * Every machine that has our name, marked with whose it is, and our free capacity. The slot under
   * a machine, whosever, is not free. `complete` is false when anything may be missing from it:
   * then nothing may be concluded from absence. Free capacity comes as `KnownUnused`, id null.
   */
  listMachines(options: CallOptions): Promise<Listing>;
  /**
   * A machine that has our name; the caller looks whose it is.
   * @throws {NotFound} it does not exist, or has another name.
   */
  getMachine(id: string, options: CallOptions): Promise<ProviderMachine>;
  /**
   * Binds a device to free capacity. Retry-safe by the witness: a device that already carries it is
   * returned instead of creating a second one, unless it carries another owner's tag.
   * @throws {RaceLost} the capacity or the witness is on a stranger's device.
   * @throws {OutcomeUnknown} the device may exist: keep the intent, look again by `findByWitness`.
   * @throws {CapacityExhausted} @throws {RemoteFailure} refused for good.
   */
  createMachine(request: CreateRequest, options: CallOptions): Promise<ProviderMachine>;
  /**
   * The device that carries the witness tag, or null; reads past any cache.
   * @throws {RaceLost} it carries another owner's tag too.
   */
  findByWitness(
    witness: Witness,
    reservationId: string,
    options: CallOptions,
  ): Promise<ProviderMachine | null>;
  /**
   * Resolves when the request is accepted, which is no evidence that the machine rebooted.
   * @throws {OutcomeUnknown} it may have been accepted; not repeated blindly.
   * @throws {Denied} the device is not `ours`.
   */
  rebootMachine(
    id: string,
    mode: 'graceful' | 'force',
    options: CallOptions,
  ): Promise<{ readonly operationRef: string }>;
  /**
   * Puts in place what every creation needs (such as the SSH key), so that a mistake shows at start.
   * Idempotent; the first creation does it too.
   * @throws {RemoteFailure} what is there contradicts the configuration.
   */
  prepare?(options: CallOptions): Promise<void>;
  /** Name a device on this slot gets; the same slot always yields the same name. */
  hostnameFor(slotId: string): string;
  /** Releases sockets; later calls reject with `Cancelled`. Idempotent. */
  stop(): Promise<void>;
}

/** Key in `ProviderMachine.tags` of the creation's witness. */
export const WITNESS_TAG = 'op';
/** Key in `ProviderMachine.tags` of the instance set that owns the machine. */
export const OWNER_TAG = 'owner';

export interface CallOptions {
  readonly signal: AbortSignal;
}
export interface Listing {
  readonly machines: readonly ProviderMachine[];
  readonly complete: boolean;
}
export interface CreateRequest {
  /** An entry of this provider's own listing, `KnownUnused`. */
  readonly unused: ProviderMachine;
  readonly hostname: string;
  readonly witness: Witness;
  /**
   * An earlier attempt of this witness may have reached the provider: look for its device before
   * anything new is asked for.
   */
  readonly resumed?: boolean;
  /** Called (and awaited) before each attempt that may create a device. */
  onAttempt?(progress: { attempts: number; ambiguous: boolean }): Promise<void>;
}
