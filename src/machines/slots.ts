import { fromCallback, fromPromise, type AnyEventObject } from 'xstate';

/** Ends a slot that nobody filled: XState skips a missing action and hangs on a missing actor. */
export function unprovided(name: string): never {
  throw new Error(`"${name}" was not provided`);
}

/** Typed hole for a promise; `provide()` must fill it. */
export const actorSlot = <Output, Input>(name: string) =>
  fromPromise<Output, Input>(async () => unprovided(name));

/** Typed hole for a long-lived service that exchanges events with its parent. */
export const serviceSlot = <Received extends AnyEventObject, Input>(name: string) =>
  fromCallback<Received, Input>(() => unprovided(name));
