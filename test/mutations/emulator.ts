import { mutationsOf } from './mutation.ts';

/** What the emulator of Equinix Metal answers and our client sends, against the published fields. */
export const mutations = mutationsOf({
  'emulators/equinix/api/account-views.ts test/emulators/equinix/published.test.ts': {
    'emulator-creator-without-short-id': '[-    short_id: userId.slice(0, 8),\n-]',
    'emulator-user-without-default-organization':
      '[-        default_organization_id: organizationId,\n-]',
    'emulator-project-without-payment-method': '[-payment_method-]{+paid_by+}: link(',
  },
  'emulators/equinix/api/views.ts test/emulators/equinix/published.test.ts': {
    'emulator-creator-with-all-of-a-user': 'account.[-userLite-]{+user+}(organizationIdOf(device))',
    'emulator-device-without-ports': 'network_ports: [-networkPortsOf(device.id, href)-]{+[]+},',
    'emulator-device-without-switch':
      '[-        switch_uuid: reservation?.switchUuid ?? device.id.slice(0, 6),\n-]',
    'emulator-times-in-milliseconds':
      '        updated_at: [-time(device.updatedAtMs)-]{+device.updatedAtMs+},',
  },
  'emulators/equinix/api/catalogue-views.ts test/emulators/equinix/published.test.ts': {
    'emulator-plan-with-an-href': "slug: plan.slug,{+\n        href: '/plans/x',+}",
    'emulator-price-as-a-number': 'pricing: [-{ hour: hourPrice }-]{+hourPrice+},',
    'emulator-facility-without-a-postcode': "[-          zip_code: '00000',\n-]",
  },
  'emulators/equinix/api/network-ports.ts test/emulators/equinix/published.test.ts': {
    'emulator-port-of-an-unknown-type': "type: '[-NetworkPort-]{+Port+}',",
  },
  'emulators/equinix/api/expansion.ts test/emulators/equinix/published.test.ts': {
    'emulator-excluded-stays-open':
      '  return open ? {+{ href: ref.href } : +}expand(ref.open(), wanted ?? NOTHING, unwanted)[- : { href: ref.href }-];',
  },
  'emulators/equinix/api/capacity-routes.ts test/emulators/equinix/published.test.ts': {
    'emulator-quantity-as-a-number': 'quantity: [-String-]{+Number+}(quantity)',
  },
  'emulators/equinix/api/api-error.ts test/emulators/equinix/published.test.ts': {
    'emulator-unknown-keys-of-a-project-are-a-server-error':
      "new ApiError([-404-]{+410+}, ['Not found'])",
  },
  'src/adapters/provider/equinix/client/device-order.ts test/adapters/provider/equinix/client/vectors-creation.test.ts -t vector 1:':
    {
      'client-sends-the-project-in-the-body':
        '    {+...{ +}plan: target.plan,{+ project_id: config.projectId },+}\n    operating_system',
    },
  'src/adapters/provider/equinix/client/device-order.ts test/adapters/provider/equinix/client/vectors-creation.test.ts -t vector 4':
    { 'client-sends-tags-as-a-text': 'tags: tagsOf(config, order){+.join() as never+},' },
  'src/adapters/provider/equinix/client/device-routes.ts test/adapters/provider/equinix/client/vectors-listing.test.ts -t vector 22':
    {
      'client-sorts-by-an-undeclared-parameter':
        "sort_by: 'hostname', [-sort_direction-]{+order+}: 'asc' }",
    },
});
