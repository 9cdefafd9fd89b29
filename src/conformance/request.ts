import type { CreateRequest } from '../adapters/provider/port.ts';
import type { Witness } from '../domain/ids.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { PLAN_TAG, SET_ID_TAG, WITNESS_TAG } from '../domain/provisioning/provider-tags.ts';
import type { Stage } from './stage.ts';

/** A creation asked of the driver itself, past the core. It leaves no secret. */
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

export const hostnameOf = (stage: Stage, { reservationId, id }: ProviderMachine): string =>
  stage.opened().fleet.hostnameFor(reservationId ?? id!);
