import type { MachineVerb } from '../../src/domain/filing/verbs.ts';

/** How much care a verb asks of a person. Destroying: what is lost cannot be had back. */
export type Care = 'plain' | 'careful' | 'destroying';

export const CARE: Readonly<Record<MachineVerb, Care>> = {
  'restart-agent': 'plain',
  hold: 'plain',
  unhold: 'plain',
  'clear-backoff': 'plain',
  withdraw: 'plain',
  'cancel-install': 'plain',
  reboot: 'careful',
  quarantine: 'careful',
  release: 'careful',
  reinstall: 'destroying',
  install: 'destroying',
  deprovision: 'destroying',
};

/** In the order in which they are offered. */
export const VERBS = Object.keys(CARE) as readonly MachineVerb[];

/** Of several machines at once: what each may be asked without further details. */
export const VERBS_OF_MANY = VERBS.filter((verb) => verb !== 'install');

/** Characters of a slot, from its end, that are typed before something is destroyed. */
export const TYPED_CHARACTERS = 8;
