import type { CallOptions, CreateRequest, Provider } from '../adapters/provider/port.ts';
import { codeOf, isProviderError, type ProviderErrorKind } from '../domain/errors.ts';
import type { Witness } from '../domain/ids.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { PLAN_TAG, SET_ID_TAG, WITNESS_TAG } from '../domain/provisioning/provider-tags.ts';
import { NO_TRAITS } from '../domain/traits.ts';
import type { Stage } from './stage.ts';
import type { Need } from './step.ts';
import { StepFailed } from './waiting.ts';

/** Has the form of many drivers' ids, but does not exist. */
export const UNKNOWN_ID = '00000000-0000-4000-8000-00000000dead';

const NOWHERE: ProviderMachine = {
  id: null,
  reservationId: UNKNOWN_ID,
  hostname: null,
  plan: 'none',
  ...NO_TRAITS,
  address: null,
  remoteUser: 'root',
  availability: 'KnownUnused',
  failed: false,
  status: null,
  power: 'unknown',
  tags: {},
  ownership: 'ours',
  observedAtMs: 0,
};

/** A direct creation request for the driver. It installs no secret. */
export function requestOf(stage: Stage, unused: ProviderMachine, mark: Witness): CreateRequest {
  const { subject, found } = stage;
  return {
    unused,
    hostname: hostnameOf(stage, found.unused ?? unused),
    plan: unused.plan,
    image: null,
    tags: {
      ...subject.sharedTags,
      [SET_ID_TAG]: subject.setId,
      [WITNESS_TAG]: mark,
      [PLAN_TAG]: unused.plan,
    },
    initCommand: '#!/bin/sh\ntrue\n',
    publicKey: subject.publicKey,
    resumed: false,
    onAttempt: async () => undefined,
  };
}

/** The name of a slot. */
export const slotIdOf = ({ reservationId, id }: ProviderMachine): string => reservationId ?? id!;
export const hostnameOf = ({ fleet }: Stage, unused: ProviderMachine): string =>
  fleet.hostnameFor(slotIdOf(unused));

/** Creates a machine directly with the driver. */
export function createRaw(
  { ask, raw }: Stage,
  request: CreateRequest,
  mark: Witness,
): ReturnType<Provider['createMachine']> {
  return ask('Create', (options) => raw.createMachine(request, options), mark);
}

/** @throws {StepFailed} it resolved, or rejected with another error. */
export async function mustReject(
  what: string,
  kinds: readonly ProviderErrorKind[],
  call: () => Promise<unknown>,
): Promise<void> {
  const wanted = kinds.join(' or ');
  try {
    await call();
  } catch (error) {
    if (isProviderError(error, ...kinds)) return;
    throw new StepFailed(`${what}: ${codeOf(error)} instead of ${wanted}`, { cause: error });
  }
  throw new StepFailed(`${what}: succeeded instead of ${wanted}`);
}

type Call = (raw: Provider, options: CallOptions, stage: Stage) => Promise<unknown>;

/** A call for each capability, about a machine that does not exist. */
const CALLS: Readonly<Record<Need, Call>> = {
  create(raw, options, stage) {
    const mark = stage.newWitness();
    const request = requestOf(stage, NOWHERE, mark);
    return raw.createMachine(request, { ...options, operationId: mark });
  },
  deprovision: (raw, options) => raw.deprovisionMachine(UNKNOWN_ID, options),
  reboot: (raw, options) => raw.rebootMachine(UNKNOWN_ID, 'graceful', options),
  reinstall(raw, options, stage) {
    const { image, tags, initCommand, publicKey } = requestOf(stage, NOWHERE, stage.newWitness());
    return raw.reinstallMachine(UNKNOWN_ID, { image, tags, initCommand, publicKey }, options);
  },
  power: (raw, options) => raw.setPower!(UNKNOWN_ID, 'off', options),
  tags: (raw, options) => raw.setTags(UNKNOWN_ID, {}, options),
};

/**
 * A driver must refuse a missing capability first. The calls name a machine that does not exist, so
 * that a wrong driver does no harm.
 * @throws {StepFailed} it does not refuse.
 */
export async function assertRefuses(stage: Stage, need: Need): Promise<void> {
  const { raw } = stage;
  if (need === 'power' && raw.setPower === undefined) return;
  await mustReject(`"${need}" is not declared`, ['not-implemented'], () =>
    stage.ask(need, (options) => CALLS[need](raw, options, stage)),
  );
}

/** Harmless calls of the driver's capabilities: their machine does not exist. */
export function callsOn(raw: Provider) {
  const { tags, reboot, deprovision } = raw.capabilities;
  return {
    get: (options: CallOptions) => raw.getMachine(UNKNOWN_ID, options),
    ...(tags && { setTags: (options: CallOptions) => raw.setTags(UNKNOWN_ID, {}, options) }),
    ...(reboot && {
      reboot: (options: CallOptions) => raw.rebootMachine(UNKNOWN_ID, 'graceful', options),
    }),
    ...(deprovision && {
      destroy: (options: CallOptions) => raw.deprovisionMachine(UNKNOWN_ID, options),
    }),
  };
}
