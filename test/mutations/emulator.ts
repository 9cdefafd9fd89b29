import type { Mutation } from './mutation.ts';

const VIEWS = 'src/simulator/fakequinix/api';
const CLIENT = 'src/adapters/provider/equinix/client';
const tour = ['test/simulator/fakequinix/published.test.ts'];

/** What the emulator of Equinix Metal answers and our client sends, against the published fields. */
export const mutations: readonly Mutation[] = [
  {
    id: 'emulator-creator-without-short-id',
    file: `${VIEWS}/account-views.ts`,
    find: '    short_id: userId.slice(0, 8),\n',
    replace: '',
    tests: tour,
  },
  {
    id: 'emulator-creator-with-all-of-a-user',
    file: `${VIEWS}/views.ts`,
    find: 'account.userLite(organizationIdOf(device))',
    replace: 'account.user(organizationIdOf(device))',
    tests: tour,
  },
  {
    id: 'emulator-user-without-default-organization',
    file: `${VIEWS}/account-views.ts`,
    find: '        default_organization_id: organizationId,\n',
    replace: '',
    tests: tour,
  },
  {
    id: 'emulator-project-without-payment-method',
    file: `${VIEWS}/account-views.ts`,
    find: 'payment_method: link(',
    replace: 'paid_by: link(',
    tests: tour,
  },
  {
    id: 'emulator-plan-with-an-href',
    file: `${VIEWS}/catalogue-views.ts`,
    find: 'slug: plan.slug,',
    replace: "slug: plan.slug,\n        href: '/plans/x',",
    tests: tour,
  },
  {
    id: 'emulator-price-as-a-number',
    file: `${VIEWS}/catalogue-views.ts`,
    find: 'pricing: { hour: hourPrice },',
    replace: 'pricing: hourPrice,',
    tests: tour,
  },
  {
    id: 'emulator-facility-without-a-postcode',
    file: `${VIEWS}/catalogue-views.ts`,
    find: "          zip_code: '00000',\n",
    replace: '',
    tests: tour,
  },
  {
    id: 'emulator-device-without-ports',
    file: `${VIEWS}/views.ts`,
    find: 'network_ports: networkPortsOf(device.id, href),',
    replace: 'network_ports: [],',
    tests: tour,
  },
  {
    id: 'emulator-device-without-switch',
    file: `${VIEWS}/views.ts`,
    find: '        switch_uuid: reservation?.switchUuid ?? device.id.slice(0, 6),\n',
    replace: '',
    tests: tour,
  },
  {
    id: 'emulator-times-in-milliseconds',
    file: `${VIEWS}/views.ts`,
    find: '        updated_at: time(device.updatedAtMs),',
    replace: '        updated_at: device.updatedAtMs,',
    tests: tour,
  },
  {
    id: 'emulator-port-of-an-unknown-type',
    file: `${VIEWS}/network-ports.ts`,
    find: "type: 'NetworkPort',",
    replace: "type: 'Port',",
    tests: tour,
  },
  {
    id: 'emulator-excluded-stays-open',
    file: `${VIEWS}/expansion.ts`,
    find: '  return open ? expand(ref.open(), wanted ?? NOTHING, unwanted) : { href: ref.href };',
    replace:
      '  return open ? { href: ref.href } : expand(ref.open(), wanted ?? NOTHING, unwanted);',
    tests: tour,
  },
  {
    id: 'emulator-quantity-as-a-number',
    file: `${VIEWS}/capacity-routes.ts`,
    find: 'quantity: String(quantity)',
    replace: 'quantity: Number(quantity)',
    tests: tour,
  },
  {
    id: 'emulator-unknown-keys-of-a-project-are-a-server-error',
    file: 'src/simulator/fakequinix/api/api-error.ts',
    find: "new ApiError(404, ['Not found'])",
    replace: "new ApiError(410, ['Not found'])",
    tests: tour,
  },
  {
    id: 'client-sends-the-project-in-the-body',
    file: `${CLIENT}/device-order.ts`,
    find: '    plan: target.plan,\n    operating_system',
    replace: '    ...{ plan: target.plan, project_id: config.projectId },\n    operating_system',
    tests: ['test/adapters/provider/equinix/client/vectors-creation.test.ts'],
    named: 'vector 1:',
  },
  {
    id: 'client-sends-tags-as-a-text',
    file: `${CLIENT}/device-order.ts`,
    find: 'tags: tagsOf(config, order),',
    replace: 'tags: tagsOf(config, order).join() as never,',
    tests: ['test/adapters/provider/equinix/client/vectors-creation.test.ts'],
    named: 'vector 4',
  },
  {
    id: 'client-sorts-by-an-undeclared-parameter',
    file: `${CLIENT}/device-routes.ts`,
    find: "sort_by: 'hostname', sort_direction: 'asc' }",
    replace: "sort_by: 'hostname', order: 'asc' }",
    tests: ['test/adapters/provider/equinix/client/vectors-listing.test.ts'],
    named: 'vector 22',
  },
];
