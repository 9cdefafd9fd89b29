import { fromCallback, fromPromise, type AnyEventObject } from 'xstate';

/** Ends a missing service: XState skips a missing action and hangs on a missing actor. */
export function unprovided(name: string): never {
  throw new Error(`"${name}" was not provided`);
}

/** Declares a service that is one promise; `provide()` must implement it. */
export const promiseService = <Output, Input>(name: string) =>
  fromPromise<Output, Input>(async () => unprovided(name));

/** Declares a long-lived service that exchanges events with its parent. */
export const callbackService = <Received extends AnyEventObject, Input>(name: string) =>
  fromCallback<Received, Input>(() => unprovided(name));
