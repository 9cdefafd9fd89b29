import { explain, isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { sleep } from '../../../clock/port.ts';
import type { CallOptions, DriverContext } from '../../port.ts';
import type { Changes } from '../changes.ts';
import type { Bmc, Wire } from '../client/bmc.ts';
import { isNotNow, refusalIn } from '../client/errors.ts';
import { readSystem, type System } from '../client/system.ts';
import { setIdIn, type BmcEntry } from '../entries.ts';
import { checkIdentity } from '../rack.ts';
import {
  bootDisk,
  bootOnce,
  targetFor,
  ejectImages,
  insertImage,
  type MediaScene,
} from './media.ts';
import {
  hashOfToken,
  TOKEN,
  withToken,
  type Claim,
  type Claims,
  type ClaimValue,
} from './claims.ts';
import type { InstallSettings } from '../settings.ts';

export interface InstallationDeps extends Pick<DriverContext, 'clock' | 'instanceSetId' | 'log'> {
  readonly bmcOf: (entry: BmcEntry) => Bmc;
  readonly carryOut: Changes['carryOut'];
  readonly claims: Claims;
  readonly options: InstallSettings;
}

/** What an installation may have left at a BMC. */
export interface Left {
  /** As recorded: the configuration may have changed. */
  readonly install: Pick<ClaimValue['install'], 'method' | 'template' | 'tokenSha256'>;
  /** Whether to remove also what has another installation's token. */
  readonly isAll: boolean;
  /** Awaited just before each change; if it rejects, this and the rest stay. */
  readonly check?: () => Promise<void>;
}

const OFF_MS = 60_000;
const LOOK_MS = 2_000;
/** How long an accepted On may take to show. */
const ON_SHOWS_MS = 12_000;
/** Waits before a step is repeated, by the BMC's answer. */
const BUSY_MS = [10_000, 10_000, 10_000];
const POST_MS = [5_000, 10_000, 20_000, 30_000, 30_000, 30_000];
const NOT_READY_MS = Array.from({ length: 6 }, () => 10_000);

/** Work at a BMC for one installation. */
export function createInstallation(deps: InstallationDeps) {
  const { clock, instanceSetId, log, bmcOf, carryOut, claims, options } = deps;
  const { method, iso, bootUri } = options;

  const look = (entry: BmcEntry, { signal }: Pick<CallOptions, 'signal'>): Promise<System> =>
    bmcOf(entry).inTurn({ signal, urgent: true }, (wire) => read(entry, wire));

  async function read(entry: BmcEntry, wire: Wire): Promise<System> {
    const system = await readSystem(bmcOf(entry), wire, entry.system, clock.monotonic());
    if (checkIdentity(entry, system) === 'same') return system;
    const message = `nothing proves that ${entry.bmc} belongs to ${entry.id}; its entry needs Serial or Uuid`;
    throw new ProviderError('conflict', message);
  }

  /** Repeats a step while the BMC reports that it is busy. */
  async function patiently<T>(step: () => Promise<T>, call: CallOptions): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await step();
      } catch (error) {
        const waitMs = waitsAfter(error)[attempt];
        const endMs = clock.now() + (waitMs ?? 0);
        if (waitMs === undefined || endMs >= call.deadline.getTime()) throw error;
        await sleep(clock, waitMs, call.signal);
      }
    }
  }

  async function lookUnmarked(entry: BmcEntry, call: CallOptions): Promise<System> {
    const system = await look(entry, call);
    const marked = setIdIn(system.assetTag);
    if (marked === null || marked === instanceSetId) return system;
    throw new ProviderError('conflict', `${entry.id} carries the mark of another fleet`);
  }

  async function prepareBoot(
    entry: BmcEntry,
    { system, token }: { readonly system: System; readonly token: string },
    call: CallOptions,
  ): Promise<void> {
    const bmc = bmcOf(entry);
    const scene: MediaScene = { bmc, system, call, clock };
    if (method === 'vmedia') {
      await patiently(() => insertImage(scene, withToken(iso!, token)), call);
    }
    const uri = method === 'uefihttp' ? withToken(bootUri!, token) : null;
    await patiently(
      () =>
        bmc.inTurn({ signal: call.signal, urgent: true }, async (wire) => {
          const now = await read(entry, wire);
          const target = await targetFor(wire, now, method);
          await bootOnce(wire, now, { target, uri });
        }),
      call,
    );
  }

  /** Off must be seen: a power-on still in progress would override a later request. */
  async function turnOff(entry: BmcEntry, call: CallOptions): Promise<void> {
    await carryOut(entry, { power: 'off', isInstalling: true }, call);
    const endMs = clock.monotonic() + OFF_MS;
    for (;;) {
      if ((await look(entry, call)).power === 'Off') return;
      if (clock.monotonic() >= endMs) {
        throw new ProviderError('transient', `${entry.id} does not switch off`);
      }
      await sleep(clock, LOOK_MS, call.signal);
    }
  }

  async function turnOn(entry: BmcEntry, claim: Claim, call: CallOptions): Promise<Claim> {
    await carryOut(entry, { power: 'on', isInstalling: true }, call);
    return enter(claim, 'installing', call);
  }

  const enter = (claim: Claim, phase: Claim['install']['phase'], { signal }: CallOptions) => {
    const isFirst = phase === 'poweringOn';
    const deadlineMs = isFirst ? clock.now() + options.window : claim.install.deadlineMs;
    const install = { ...claim.install, phase, deadlineMs };
    return claims.replace(
      claim,
      { install: isFirst ? { ...install, isAnswered: false } : install },
      signal,
    );
  };

  /** Otherwise the machine's next boot would start the installer. */
  async function takeBack(entry: BmcEntry, claim: Claim, call: CallOptions): Promise<void> {
    try {
      await tidy(entry, { install: claim.install, isAll: true, check }, call);
    } catch (error) {
      const fields = { machine: entry.id, cause: explain(error) };
      log.warn(fields, 'the preparation of a failed installation could not be undone');
    }

    /** Another daemon may have continued it. */
    async function check(): Promise<void> {
      if ((await claims.of(entry.id, call.signal))?.version === claim.version) return;
      throw new ProviderError('conflict', `another daemon continues with ${entry.id}`);
    }
  }

  async function tidy(
    entry: BmcEntry,
    left: Left,
    call: Pick<CallOptions, 'signal' | 'deadline'>,
  ): Promise<void> {
    const bmc = bmcOf(entry);
    const system = await look(entry, call);
    const { signal } = call;
    const leaving = { isOurs: isLeftBy(left), check: left.check ?? (async () => undefined) };
    try {
      await bmc.inTurn({ signal }, (wire) => bootDisk(wire, system, leaving));
    } finally {
      // An empty drive cannot be booted, whatever the override.
      if (left.install.method === 'vmedia') {
        await ejectImages({ bmc, system, call, clock }, leaving);
      }
    }
  }

  /** Whether a URL belongs to the installation, or to any of ours. */
  const isLeftBy = ({ install, isAll }: Left) => {
    const configured = { vmedia: iso, uefihttp: bootUri, pxe: undefined, kexec: undefined }[
      install.method
    ];
    const [start = '', end] = (install.template ?? configured ?? '\0').split('{token}');
    return (address: string): boolean => {
      if (end === undefined) return address === start;
      if (!address.startsWith(start) || !address.endsWith(end)) return false;
      const token = address.slice(start.length, address.length - end.length);
      return TOKEN.test(token) && (isAll || hashOfToken(token) === install.tokenSha256);
    };
  };

  return {
    /**
     * Checks whether the machine can be installed, before it is claimed.
     * @returns the system as read, to check its mark.
     * @throws {ProviderError} `conflict`: it is another machine. `transient`: its power state is
     *   unknown. `not-implemented`: it cannot be installed this way.
     */
    async requirePossible(entry: BmcEntry, call: CallOptions): Promise<System> {
      if (method !== 'vmedia' && entry.mac === null) {
        throw new ProviderError('invalid', `${method} needs the Mac of ${entry.id}`);
      }
      return bmcOf(entry).inTurn({ signal: call.signal, urgent: true }, async (wire) => {
        const system = await read(entry, wire);
        if (system.power === null) {
          throw new ProviderError('transient', `the power state of ${entry.id} is unknown`);
        }
        await targetFor(wire, system, method);
        return system;
      });
    },
    /**
     * Runs from the written phase to the power-on, which is accepted when this resolves. On a
     * failure before the power-on, undoes the preparation.
     * @throws {ProviderError} `conflict`: it carries another fleet's mark, and is left as it is.
     */
    async carryOut(
      entry: BmcEntry,
      claim: Claim,
      { token, call }: { readonly token: string; readonly call: CallOptions },
    ): Promise<Claim> {
      const system = await lookUnmarked(entry, call);
      await call.beforeSending?.();
      let at = claim;
      try {
        await prepareBoot(entry, { system, token }, call);
        at = await enter(at, 'poweringOff', call);
        await turnOff(entry, call);
        at = await enter(at, 'poweringOn', call);
      } catch (error) {
        if (!call.signal.aborted) await takeBack(entry, at, call);
        throw error;
      }
      return turnOn(entry, at, call);
    },
    /** Continues after the last phase before the power-on, whose request may have been sent. */
    async goOn(entry: BmcEntry, claim: Claim, call: CallOptions): Promise<Claim> {
      if (claim.result !== null || claim.install.phase === 'installing') return claim;
      const endMs = clock.monotonic() + ON_SHOWS_MS;
      for (;;) {
        const { power } = await look(entry, call);
        if (power === 'On') return enter(claim, 'installing', call);
        if (power === 'Off' && clock.monotonic() >= endMs) return turnOn(entry, claim, call);
        if (clock.monotonic() >= endMs + OFF_MS) {
          throw new ProviderError('transient', `the power state of ${entry.id} is unknown`);
        }
        await sleep(clock, LOOK_MS, call.signal);
      }
    },
    /** Switches the machine off, and verifies it. */
    switchOff: turnOff,
    /** Removes our image, and sets the next boot to the disk. */
    tidy,
  };

  function waitsAfter(error: unknown): readonly number[] {
    const refusal = refusalIn(error);
    if (!isProviderError(error) || !refusal) return [];
    if (refusal.ids.includes('UnableToModifyDuringSystemPOST')) return POST_MS;
    if (isNotNow(refusal)) return NOT_READY_MS;
    return refusal.status >= 500 && refusal.status !== 501 ? BUSY_MS : [];
  }
}

export type RackInstallation = ReturnType<typeof createInstallation>;
