import { mutationsOf } from './mutation.ts';

/** What the emulator of Equinix Metal answers and our client sends, against the published fields. */
export const mutations = mutationsOf`
emulators/equinix/api/views.ts test/emulators/equinix/published.test.ts
  emulator-creator-without-short-id: id: state.userId,[- short_id: state.userId.slice(0, 8),-]
  emulator-device-without-ports: network_ports: [-portsOf(id)-]{+[]+},
  emulator-device-without-switch: [- switch_uuid: id.slice(0, 6),-] network_frozen
  emulator-times-in-milliseconds: updated_at: [-time(one.updatedAtMs)-]{+one.updatedAtMs+}, user
  emulator-plan-with-an-href: class: slug,{+ href: '/plans/x',+} description
  emulator-price-as-a-number: pricing: [-{ hour: 3.1 }-]{+3.1+},
  emulator-facility-without-a-postcode: [-      zip_code: '00000',\n-]
  emulator-port-of-an-unknown-type: type: '[-NetworkPort-]{+Port+}',
  emulator-project-without-payment-method: [-payment_method-]{+paid_by+}: link(
emulators/equinix/api/expansion.ts test/emulators/equinix/published.test.ts
  emulator-excluded-stays-open: return isOpen ? {+{ href } : +}show(open(), \`\${name}.\`)[- : { href }-];
emulators/equinix/api/call.ts test/emulators/equinix/published.test.ts
  emulator-what-is-not-there-is-gone: new ApiRefusal([-404-]{+410+}, errorBody('Not found'))
src/adapters/provider/equinix/creation.ts test/adapters/provider/equinix/client/vectors-creation.test.ts -t vector 1:
  client-sends-the-project-in-the-body:
    \_\_\_\_\_\_...target,\n{+      ...{ project_id: config.projectId },\n+}      operating_system
src/adapters/provider/equinix/creation.ts test/adapters/provider/equinix/client/vectors-creation.test.ts -t vector 4
  client-sends-tags-as-a-text: tags: toApiTags({ ...request.tags, ...marks }){+.join() as never+},
src/adapters/provider/equinix/client.ts test/adapters/provider/equinix/client/vectors-listing.test.ts -t vector 22
  client-sorts-by-an-undeclared-parameter: sort_by: 'hostname', [-sort_direction-]{+order+}: 'asc' }
`;
