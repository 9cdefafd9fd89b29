import type { Process } from './machine.ts';

/** The parts of a daemon that write to the BMDB, as its metrics call them. */
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

/** Whose work a process is; `unknown` for those of the tests. */
export const processorOf = (process: Process): Processor => OF_PROCESS[process] ?? 'unknown';
