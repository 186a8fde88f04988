import { button, element, link, openForm } from './elements.js';

export const timeOf = (text) => {
  const shown = new Date(text).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  return element('time', { dateTime: text, textContent: shown });
};

/** The name of an included user. A user that was deleted has none. */
export const nameOf = (record, relation) => record._included?.[relation]?.name ?? 'A former user';

export const nothing = (text) => element('p', { className: 'dim', textContent: text });

export const badge = (status) => element('span', { className: `badge ${status}`, textContent: status });

export const head = (title, ...actions) =>
  element(
    'div',
    { className: 'head' },
    element('h1', { textContent: title }),
    element('div', { className: 'actions' }, actions),
  );

export const crumbs = (...links) =>
  element(
    'nav',
    { className: 'crumbs', ariaLabel: 'Path' },
    links.map(([text, href]) => element('span', { className: 'crumb' }, link(text, href))),
  );

export const nameField = (value) => [{ name: 'name', label: 'Name', value, maxLength: 100 }];

/** A form whose result is shown afterwards. */
export function showForm({ refresh }, content) {
  const submit = async (values) => {
    await content.submit(values);
    await refresh();
  };
  openForm({ ...content, submit });
}

export const rename = (context, path, record) =>
  button('Rename', () =>
    showForm(context, {
      title: `Rename ${record.name}`,
      fields: nameField(record.name),
      action: 'Rename',
      submit: (values) => context.api.send('PATCH', path, values, record),
    }),
  );

/** Deletes a record, and goes to the page above. */
export const remove = (context, path, name, parent) => {
  const submit = async () => {
    await context.api.send('DELETE', path);
    context.go(parent);
  };
  return button('Delete', () => openForm({ title: `Delete ${name}?`, action: 'Delete', submit }), 'danger');
};
