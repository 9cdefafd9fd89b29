import { type Device, idOf } from '../../adapters/provider/equinix/client/schema.ts';
import { UsageError } from '../../domain/errors.ts';
import { type Access, type AccessFlags, openAccess, requireUuid } from './access.ts';
import { agrees, type ConsentFlags, requireWayToAsk } from './consent.ts';
import { spareMachines } from './fleet-machines.ts';
import type { Operator } from './operator.ts';
import { isMeant, ownerText, requireReach, stillMeant } from './reach.ts';
import { carryOutAll, declined, type Outcome, outcomeOf, planned, unreadText } from './report.ts';

export interface RebootFlags extends AccessFlags, ConsentFlags {
  readonly project: string;
  readonly device?: string | undefined;
  readonly all: boolean;
}

/**
 * `shepherd equinix reboot`: one device of a project, or all that are meant.
 * @throws {UsageError} neither, or both, are named; the device is not one of those meant.
 */
export async function rebootDevices(flags: RebootFlags, operator: Operator): Promise<Outcome> {
  const { project, device, all } = flags;
  if ((device === undefined) !== all) throw new UsageError('give either --device or --all');
  if (all) requireWayToAsk(flags, operator);
  if (device !== undefined) requireUuid('device', device);
  const access = openAccess(flags, project, operator);
  requireReach(access);
  const { client } = access;
  const { signal } = operator;
  try {
    const found = device === undefined ? await allOf(access, operator) : [await one(device)];
    const { others: meant, machines } = await spareMachines(
      ...([found, ({ id }: Device) => id, 'reboot', flags, operator] as const),
    );
    const more = { project, machines };
    if (meant.length === 0) return outcomeOf([], more);
    const lines = meant.map((each) => `${nameOf(each)}  ${each.id}  ${ownerText(each)}`);
    const subjects = meant.map((each) => ({ id: each.id, name: nameOf(each) }));
    if (flags.dryRun) return outcomeOf(subjects.map(planned), more);
    const prompt = 'Type the number of devices to reboot them:';
    const size = meant.length;
    const question = { lines, prompt, answer: String(size), count: size };
    if (all && !(await agrees(question, flags, operator))) return declined(more);
    const items = await carryOutAll(
      subjects,
      async ({ id }, step) => {
        await stillMeant(id, access, signal);
        await client.rebootDevice(id, signal);
        step('reboot accepted');
      },
      operator,
    );
    return outcomeOf(items, more);
  } finally {
    client.stop();
  }

  async function one(id: string): Promise<Device> {
    const found = await client.getDevice(id, signal);
    const projectId = idOf(found.project);
    if (projectId !== null && projectId !== project) {
      throw new UsageError(`device ${id} is not in project ${project}`);
    }
    if (isMeant(found, access)) return found;
    const whose = `${nameOf(found)} of ${ownerText(found)}`;
    throw new UsageError(`device ${id} is ${whose}; say --all-owners if it is meant`);
  }
}

async function allOf(access: Access, { signal, note }: Operator): Promise<Device[]> {
  const { items, unread } = await access.client.listDevices(signal, { insist: true });
  unreadText('device', unread).forEach((line) => note(line));
  return items.filter((device) => isMeant(device, access));
}

const nameOf = ({ hostname, id }: Device): string => hostname ?? id;
