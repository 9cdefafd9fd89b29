import type { Process } from './machine.ts';

/** The parts of a daemon that write to the BMDB, by their names in metrics. */
export const PROCESSORS = [
  'unknown',
  'shepherd',
  'shepherd-initializer',
  'shepherd-provisioner',
  'shepherd-recoverer',
  'shepherd-updater',
  'bmsrv',
  'scruffy-stats',
] as const;
export type Processor = (typeof PROCESSORS)[number];

const OF_PROCESS: Readonly<Partial<Record<Process, Processor>>> = {
  ShepherdAgentStart: 'shepherd-initializer',
  ShepherdRecovery: 'shepherd-recoverer',
  ShepherdReinstall: 'shepherd-recoverer',
  ShepherdDeprovision: 'shepherd-provisioner',
};

/** The part that runs a process; `unknown` for processes of the tests. */
export const processorOf = (process: Process): Processor => OF_PROCESS[process] ?? 'unknown';
