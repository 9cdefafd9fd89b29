import { z } from 'zod';
import { invalid } from './api-error.ts';
import {
  BILLING_CYCLES,
  USUAL_ADDRESSES,
  type DeviceOrder,
  type WantedAddress,
} from '../state/device-order.ts';

/** An object, or the JSON text of one, as the service's Go client sends it; empty text is empty. */
const objectOrText = z.union(
  [z.record(z.string(), z.unknown()), z.string().transform(parseObject)],
  { error: 'expected an object, or the JSON text of one' },
);

function parseObject(text: string, ctx: z.RefinementCtx): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(text.trim() === '' ? {} : JSON.parse(text));
  } catch {
    ctx.addIssue({ code: 'custom', message: 'is not the JSON text of an object' });
    return z.NEVER;
  }
}

/** A number, or its decimal digits, as the Go client sends a price. */
const numberOrText = z.union(
  [
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ],
  { error: 'expected a number' },
);
/** Empty text stands for what is not given. */
const noText = z.literal('').transform(() => undefined);
const strings = z.array(z.string());

/** Fields that both create and update take. */
export const editableFields = {
  hostname: z.string().min(1),
  description: z.string(),
  tags: strings,
  userdata: z.string(),
  customdata: objectOrText,
  locked: z.boolean(),
  always_pxe: z.boolean(),
  ipxe_script_url: z.string(),
  billing_cycle: z.union([z.enum(BILLING_CYCLES), noText], {
    error: `expected one of ${BILLING_CYCLES.join(', ')}`,
  }),
  network_frozen: z.boolean(),
  spot_instance: z.boolean(),
};

export const updateBody = z.looseObject({
  ...z.object(editableFields).partial().shape,
  firmware_set_id: z.uuid().optional(),
});

const sshKeyInput = z.looseObject({
  key: z.string(),
  label: z.string().min(1).optional(),
  tags: strings.optional(),
});

const addressInput = z.looseObject({
  address_family: z.union([z.literal(4), z.literal(6)], { error: 'expected 4 or 6' }),
  public: z.boolean().optional(),
  cidr: z.int().optional(),
  ip_reservations: strings.optional(),
});

/** The body of a device's creation. What stands for nothing reads as not given. */
export const createBody = z.looseObject({
  ...z.object(editableFields).partial().shape,
  plan: z.string(),
  operating_system: z.string(),
  metro: z.string().optional(),
  facility: z
    .union([z.string(), strings], { error: 'expected a code or a list of codes' })
    .optional(),
  hardware_reservation_id: z.union([noText, z.string()]).optional(),
  project_ssh_keys: strings.optional(),
  user_ssh_keys: strings.optional(),
  ssh_keys: z.array(sshKeyInput).optional(),
  no_ssh_keys: z.boolean().optional(),
  /** Each only narrows the choice of a machine, and all of a plan are alike. */
  features: z.union([strings, z.record(z.string(), z.string())]).optional(),
  ip_addresses: z.array(addressInput).optional(),
  public_ipv4_subnet_size: z.int().optional(),
  private_ipv4_subnet_size: z.int().optional(),
  spot_price_max: numberOrText.optional(),
  storage: objectOrText.optional(),
  termination_time: z.iso.datetime({ offset: true }).optional(),
});
export type CreateBody = z.output<typeof createBody>;

/** What a create says of the order, beside the fields that an update takes too. */
export function orderedBy(body: CreateBody, nowMs: number): Partial<DeviceOrder> {
  const { spot_price_max: price, termination_time: end, storage } = body;
  if (price !== undefined && price <= 0) throw invalid('spot_price_max: is not above 0');
  if (body.spot_instance && body.hardware_reservation_id !== undefined) {
    throw invalid('spot_instance: a hardware reservation is not for spot instances');
  }
  if (end !== undefined && Date.parse(end) <= nowMs) {
    throw invalid('termination_time: is not in the future');
  }
  return {
    ...(price === undefined ? {} : { spotPriceMax: price }),
    ...(end === undefined ? {} : { terminationTimeMs: Date.parse(end) }),
    ...(storage === undefined ? {} : { storage }),
    wantedAddresses: addressesIn(body),
  };
}

/** The usual addresses with the sizes that the body names, or those that it lists. */
function addressesIn(body: CreateBody): WantedAddress[] {
  const sizes = [body.public_ipv4_subnet_size, undefined, body.private_ipv4_subnet_size];
  const names = ['public_ipv4_subnet_size', '', 'private_ipv4_subnet_size'];
  const usual = USUAL_ADDRESSES.map((one, i) => sized(one, sizes[i], names[i]!));
  const listed = body.ip_addresses ?? [];
  if (listed.length === 0) return usual;
  for (const [i, one] of listed.entries()) {
    const at = `ip_addresses.${i}`;
    const like = (other: typeof one) => usualOf(usual, other) === usualOf(usual, one);
    if (!usualOf(usual, one)) throw invalid(`${at}: there are no private IPv6 addresses`);
    if (listed.findIndex(like) !== i) throw invalid(`${at}: asks for the same kind again`);
    if ((one.ip_reservations ?? []).length > 0) {
      throw invalid(`${at}.ip_reservations: no such IP reservation in this project`);
    }
  }
  return usual.flatMap((one) => {
    const i = listed.findIndex((other) => usualOf(usual, other) === one);
    return i < 0 ? [] : [sized(one, listed[i]!.cidr, `ip_addresses.${i}.cidr`)];
  });
}

const usualOf = (usual: readonly WantedAddress[], input: z.output<typeof addressInput>) =>
  usual.find((one) => one.family === input.address_family && one.public === (input.public ?? true));

/** Networks of 2 to 16 addresses. */
function sized(one: WantedAddress, cidr: number | undefined, field: string): WantedAddress {
  const most = one.family === 4 ? 31 : 127;
  if (cidr === undefined) return one;
  if (cidr < most - 3 || cidr > most) {
    throw invalid(`${field}: is not between ${most - 3} and ${most}`);
  }
  return { ...one, cidr };
}
