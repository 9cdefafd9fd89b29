import type { CallOptions, Provider } from '../adapters/provider/port.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { NO_TRAITS } from '../domain/traits.ts';
import { mustReject, UNKNOWN_ID } from './refusal.ts';
import { requestOf } from './request.ts';
import type { Stage } from './stage.ts';
import type { Need } from './step.ts';

/**
 * What a driver says it cannot, it must refuse before anything else. The calls name a machine that
 * does not exist, so that a driver that lies does no harm.
 * @throws {StepFailed} it does not.
 */
export async function assertRefuses(stage: Stage, need: Need, signal: AbortSignal): Promise<void> {
  const { raw } = stage.opened();
  if (need === 'power' && raw.setPower === undefined) return;
  await mustReject(`"${need}" is not declared`, ['not-implemented'], () =>
    stage.raw(need, signal, (options) => CALLS[need](raw, options, stage)),
  );
}

type Call = (raw: Provider, options: CallOptions, stage: Stage) => Promise<unknown>;
const CALLS: Readonly<Record<Need, Call>> = {
  create(raw, options, stage) {
    const mark = stage.newWitness();
    const request = requestOf(stage, NOWHERE, mark);
    return raw.createMachine(request, { ...options, operationId: mark });
  },
  deprovision: (raw, options) => raw.deprovisionMachine(UNKNOWN_ID, options),
  reboot: (raw, options) => raw.rebootMachine(UNKNOWN_ID, 'graceful', options),
  reinstall(raw, options, stage) {
    const request = requestOf(stage, NOWHERE, stage.newWitness());
    const { image, tags, initCommand, publicKey } = request;
    return raw.reinstallMachine(UNKNOWN_ID, { image, tags, initCommand, publicKey }, options);
  },
  power: (raw, options) => raw.setPower!(UNKNOWN_ID, 'off', options),
  tags: (raw, options) => raw.setTags(UNKNOWN_ID, {}, options),
};

/** Free capacity that does not exist. */
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
