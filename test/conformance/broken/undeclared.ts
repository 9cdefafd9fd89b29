import type { Provider } from '../../../src/adapters/provider/port.ts';
import type { Need } from '../../../src/conformance/step.ts';
import { type Broken, declaring, fails } from './broken.ts';

/** For each capability the first step that needs it, and the method that the step tests. */
const CAPABILITIES: readonly (readonly [need: Need, step: string, method: keyof Provider])[] = [
  ['create', 'create', 'createMachine'],
  ['deprovision', 'destroy', 'deprovisionMachine'],
  ['reboot', 'reboot', 'rebootMachine'],
  ['reinstall', 'reinstall', 'reinstallMachine'],
  ['power', 'power', 'setPower'],
  ['tags', 'tag-changes', 'setTags'],
];

/** Free capacity without a name, and an operation. */
const NOTHING = { id: null, reservationId: null, availability: 'KnownUnused', plan: '' };
const DONE = { ...NOTHING, operationRef: 'done' };

/** Undeclared capabilities must be refused as `not-implemented`. */
export const BROKEN_UNDECLARED: readonly Broken[] = CAPABILITIES.flatMap(([need, step, method]) => {
  const instead = (answer: () => Promise<unknown>) => (provider: Provider) => ({
    ...declaring(provider, { [need]: false }),
    [method]: answer,
  });
  return [
    fails(
      step,
      `does not declare "${need}", and does it`,
      instead(async () => DONE),
    ),
    fails(
      step,
      `does not declare "${need}", and refuses it for another reason`,
      instead(() => Promise.reject(new Error('never heard of it'))),
    ),
  ];
});
