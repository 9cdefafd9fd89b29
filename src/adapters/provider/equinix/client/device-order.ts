import { isUuid, type Witness } from '../../../../domain/ids.ts';
import type { EquinixConfig, EquinixTimings } from '../settings.ts';
import { ownerTag, witnessTag } from '../tags.ts';
import type { Call } from '../../../http/call.ts';
import type { CreateDeviceBody } from './device-routes.ts';
import { givenOf } from './request-parts.ts';
import type { Routes } from './client.ts';
import type { Reservation } from './schema.ts';

export interface DeviceOrder {
  /** An id: the server is never asked to pick one, since a repetition could take a second. */
  readonly reservationId: string;
  readonly hostname: string;
  readonly witness: Witness;
  /** What else it is to carry, as this API spells tags. Never changed. */
  readonly tags?: readonly string[];
  /** Only this key reaches the machine; absent: all keys of project and account. */
  readonly sshKeyId?: string;
  /** Slug; the configured system when absent. */
  readonly operatingSystem?: string;
  /** Secret. */
  readonly userdata?: string;
  /** Secret. */
  readonly customdata?: Readonly<Record<string, unknown>>;
  readonly locked?: boolean;
  /** An earlier process may have sent a request for this witness: look before sending. */
  readonly resumed?: boolean;
  /** Awaited before each request; what it throws ends the creation. */
  readonly onAttempt?: (progress: Progress) => Promise<void>;
}

/** `attempts` counts requests that may create; `ambiguous`: one of them may have had its effect. */
export interface Progress {
  readonly attempts: number;
  readonly ambiguous: boolean;
}

/** What a creation works with. */
export interface Scene {
  readonly routes: Routes;
  readonly call: Call;
  readonly config: Pick<EquinixConfig, 'projectId' | 'instanceSetId' | 'os'>;
  readonly timings: EquinixTimings;
}

/** What the hardware is, as a request has to say it. */
export interface Target {
  readonly plan: string;
  readonly metro?: string;
}

/** Everything that shows without a request. @throws {ApiError} NoReservationProvided, InvalidArgument. */
export function checkOrder({ call, config }: Scene, order: DeviceOrder): void {
  const refuse = (message: string) => call.error('InvalidArgument', message);
  const { reservationId, hostname, witness, sshKeyId } = order;
  if (reservationId === '') throw call.error('NoReservationProvided', 'no reservation is given');
  if (!isUuid(reservationId)) throw refuse('the reservation id is no lower-case UUID');
  if (hostname === '') throw refuse('no hostname is given');
  const ids = { witness, 'SSH key id': sshKeyId, 'project id': config.projectId };
  for (const [name, id] of Object.entries(ids)) {
    if (id !== undefined && !isUuid(id)) throw refuse(`the ${name} is no lower-case UUID`);
  }
}

/** What a reservation offers. @throws {ApiError} Rejected: it names no plan. */
export function targetOf(call: Call, reservation: Reservation): Target {
  const plan = reservation.plan?.slug;
  if (plan === undefined) throw call.error('Rejected', 'the reservation names no plan');
  const metro = reservation.facility?.metro?.code;
  return { plan, ...(metro !== undefined && { metro }) };
}

export function bodyFor({ config }: Scene, order: DeviceOrder, target: Target): CreateDeviceBody {
  const { sshKeyId, userdata, customdata, locked } = order;
  return {
    hostname: order.hostname,
    plan: target.plan,
    operating_system: order.operatingSystem ?? config.os,
    hardware_reservation_id: order.reservationId,
    tags: tagsOf(config, order),
    ...(sshKeyId !== undefined && { project_ssh_keys: [sshKeyId] }),
    ...(target.metro !== undefined && { metro: target.metro }),
    ...(givenOf({ userdata, customdata, locked }) as Partial<CreateDeviceBody>),
  };
}

/** The caller's tags with one witness and one owner, whatever the caller's had of these. */
function tagsOf({ instanceSetId }: Scene['config'], { tags = [], witness }: DeviceOrder): string[] {
  const marks = [witnessTag(''), ownerTag('')];
  const others = tags.filter((tag) => !marks.some((mark) => tag.startsWith(mark)));
  return [...others, witnessTag(witness), ownerTag(instanceSetId)];
}
