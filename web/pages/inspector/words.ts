/** Texts of the inspector, which loads on demand. */
const number = new Intl.NumberFormat('en');

export const words = {
  title: 'Inspector',
  about: 'Live events of actors. Secrets are hidden.',
  machine: 'Machine',
  machineHelp: 'provider/slot; empty: the supervisor and the first machines',
  look: 'Show',
  save: 'Save a recording',
  open: 'Open a recording',
  close: 'Back to live',
  stately: "Stately's inspector",
  ended: 'The daemon does not answer. The events so far stay visible. Trying again.',
  ofFile: (name: string) => `Recording ${name}`,
  unreadable: (name: string, why: string) => `${name} cannot be read: ${why}`,
  tooLarge: 'it is larger than 32 MB',
  dropped: (count: number) =>
    `${number.format(count)} events were dropped because too many arrived at once`,

  steps: 'Steps',
  step: 'Step',
  first: 'First',
  back: 'Back',
  on: 'Next',
  last: 'Latest',
  stepOf: (at: number, count: number) => `${number.format(at)} of ${number.format(count)}`,
  noSteps: 'Nothing has happened yet.',

  actors: 'Actors',
  noActors: 'No actor is known yet.',
  context: 'Context',
  error: 'Error',
  noChart: 'This actor is a call or a service without a statechart.',
  noStates: 'The statechart of this actor has no states.',

  sequence: 'Sequence',
  outside: 'outside',
  calls: 'calls',
  others: 'others',
  said: (from: string, to: string, event: string) => `${from} to ${to}: ${event}`,
  became: (who: string, state: string) => `${who} is ${state}`,
} as const;
