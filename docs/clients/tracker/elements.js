/** An element with properties, as `onclick`, and children; null and false are none. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.flat().filter((child) => child !== null && child !== false));
  return made;
}

export const button = (text, onclick, className = '') =>
  element('button', { type: 'button', className, onclick, textContent: text });

export const link = (text, href, properties = {}) => element('a', { href, textContent: text, ...properties });

const labelOf = ({ id, tagName, textContent }) => id || `${tagName} ${textContent}`;

/** Replaces the content of an element. Texts in inputs with an id remain, and so does the focus. */
export function replaceContent(parent, ...children) {
  const controls = () => [...parent.querySelectorAll('a, button, input, select, textarea')];
  const typed = new Map(
    controls().flatMap((each) => (each.id && 'selectionStart' in each ? [[each.id, each.value]] : [])),
  );
  let focused = controls().find((each) => each === document.activeElement);
  const cursor = focused?.selectionStart;
  parent.replaceChildren(...children);
  for (const control of controls()) {
    if (typed.has(control.id)) control.value = typed.get(control.id);
    if (!focused || labelOf(control) !== labelOf(focused)) continue;
    focused = undefined;
    control.focus({ preventScroll: true });
    if (cursor !== undefined) control.setSelectionRange(cursor, cursor);
  }
}

/**
 * Shows a form in the dialog. `fields` have a name, a label and a value, and perhaps `options` or `rows`; `submit` gets the values. The
 * form stays open with a message while `submit` fails.
 */
export function openForm({ title, fields = [], action, submit }) {
  const dialog = document.getElementById('dialog');
  const failure = element('p', { className: 'failure', role: 'alert' });
  const form = element(
    'form',
    {
      className: 'stack',
      method: 'dialog',
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          await submit(Object.fromEntries(new FormData(form)));
          dialog.close();
        } catch (error) {
          failure.textContent = error.message;
        }
      },
    },
    element('h2', { id: 'dialog-title', textContent: title }),
    fields.map(inputOf),
    failure,
    element(
      'p',
      { className: 'actions' },
      element('button', { className: 'primary', textContent: action }),
      button('Cancel', () => dialog.close()),
    ),
  );
  dialog.replaceChildren(form);
  dialog.showModal();
}

function inputOf({ name, label, value = '', options, rows, maxLength = 200, isOptional = false }) {
  const input = options
    ? element(
        'select',
        { name },
        options.map(([id, text]) => new Option(text, id, false, id === value)),
      )
    : element(rows ? 'textarea' : 'input', {
        name,
        maxLength,
        required: !isOptional,
        ...(rows && { rows }),
        value,
      });
  return element('label', {}, label, input);
}
