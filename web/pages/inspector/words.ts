/** Texts of the inspector, which loads on demand. */
const number = new Intl.NumberFormat('en');

export const words = {
  title: 'Inspector',
  about: 'What actors do, as they do it. Secrets are hidden.',
  machine: 'Machine',
  machineHelp: 'provider/slot; empty: the supervisor and the first machines',
  look: 'Look',
  save: 'Save a recording',
  open: 'Open a recording',
  close: 'Back to live',
  stately: "Stately's inspector",
  ended: 'The daemon does not answer; what was told before stays. Trying again.',
  ofFile: (name: string) => `Recording ${name}`,
  unreadable: (name: string, why: string) => `${name} cannot be read: ${why}`,
  tooLarge: 'it is larger than 32 MB',
  dropped: (count: number) => `${number.format(count)} events of a burst are not shown`,

  steps: 'Steps',
  step: 'Step',
  first: 'First',
  back: 'Back',
  on: 'On',
  last: 'Latest',
  stepOf: (at: number, count: number) => `${number.format(at)} of ${number.format(count)}`,
  noSteps: 'Nothing has happened yet.',

  actors: 'Actors',
  noActors: 'No actor has been told of yet.',
  context: 'What it knows',
  error: 'Why it ended',
  noChart: 'A call or a service: it has no statechart.',
  noStates: 'Its statechart has no states.',

  sequence: 'Sequence',
  outside: 'outside',
  calls: 'calls',
  others: 'others',
  said: (from: string, to: string, event: string) => `${from} to ${to}: ${event}`,
  became: (who: string, state: string) => `${who} is ${state}`,
} as const;
