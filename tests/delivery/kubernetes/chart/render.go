// Renders a Helm chart with the libraries that Helm is made of: text/template, Sprig, sigs.k8s.io/yaml
// and gojsonschema, as Debian has them. Only what our chart uses: no dependencies, no hooks, no cluster.
//
//	render CHART <REQUEST >OBJECTS
//
// REQUEST is JSON: {"release", "namespace", "kubeVersion", "values"}; values are merged over those of
// the chart. Prints {"objects": [...], "notes": "..."}, or fails with what is wrong.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

type request struct {
	Release, Namespace, KubeVersion string
	Values                          map[string]interface{}
}

type files map[string][]byte

func (f files) Get(name string) string { return string(f[name]) }

func (f files) Glob(pattern string) files {
	found := files{}
	for name, content := range f {
		if matches, err := path.Match(pattern, name); err == nil && matches {
			found[name] = content
		}
	}
	return found
}

type kubeVersion struct{ Version string }

type capabilities struct{ KubeVersion kubeVersion }

type chart struct {
	metadata  map[string]interface{}
	values    map[string]interface{}
	schema    []byte
	templates map[string]string
	files     files
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	loaded, err := load(folder)
	if err != nil {
		return err
	}
	values := merged(loaded.values, asked.Values)
	if err := validate(loaded.schema, values); err != nil {
		return err
	}
	objects, notes, err := render(loaded, values, asked)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]interface{}{"objects": objects, "notes": notes})
}

// load reads the chart. Links are followed, as Helm does.
func load(folder string) (*chart, error) {
	loaded := &chart{templates: map[string]string{}, files: files{}}
	err := walk(folder, "", func(name string, content []byte) error {
		switch {
		case name == "Chart.yaml":
			return yaml.UnmarshalStrict(content, &loaded.metadata)
		case name == "values.yaml":
			return yaml.UnmarshalStrict(content, &loaded.values)
		case name == "values.schema.json":
			loaded.schema = content
		case strings.HasPrefix(name, "templates/"):
			loaded.templates[name] = string(content)
		default:
			loaded.files[name] = content
		}
		return nil
	})
	return loaded, err
}

func walk(folder, prefix string, visit func(string, []byte) error) error {
	entries, err := os.ReadDir(filepath.Join(folder, prefix))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(prefix, entry.Name())
		status, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if status.IsDir() {
			err = walk(folder, name, visit)
		} else if content, failed := os.ReadFile(filepath.Join(folder, name)); failed != nil {
			err = failed
		} else {
			err = visit(name, content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// merged has the tables of both; null removes a key.
func merged(base, over map[string]interface{}) map[string]interface{} {
	result := map[string]interface{}{}
	for key, value := range base {
		result[key] = value
	}
	for key, value := range over {
		table, isTable := value.(map[string]interface{})
		below, hasTable := result[key].(map[string]interface{})
		switch {
		case value == nil:
			delete(result, key)
		case isTable && hasTable:
			result[key] = merged(below, table)
		default:
			result[key] = value
		}
	}
	return result
}

func validate(schema []byte, values map[string]interface{}) error {
	checked, err := gojsonschema.Validate(
		gojsonschema.NewBytesLoader(schema), gojsonschema.NewGoLoader(values))
	if err != nil {
		return err
	}
	var wrong []string
	for _, each := range checked.Errors() {
		wrong = append(wrong, each.String())
	}
	if len(wrong) > 0 {
		return fmt.Errorf("values do not meet the schema: %s", strings.Join(wrong, "; "))
	}
	return nil
}

func functions(all *template.Template) template.FuncMap {
	added := sprig.TxtFuncMap()
	delete(added, "env")
	delete(added, "expandenv")
	added["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	added["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	added["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	return added
}

func render(loaded *chart, values map[string]interface{}, asked request) (
	[]interface{}, string, error) {
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	var names []string
	for name, text := range loaded.templates {
		if _, err := all.New(name).Parse(text); err != nil {
			return nil, "", err
		}
		names = append(names, name)
	}
	sort.Strings(names)
	data := map[string]interface{}{
		"Values":       values,
		"Files":        loaded.files,
		"Chart":        capitalized(loaded.metadata),
		"Capabilities": capabilities{kubeVersion{asked.KubeVersion}},
		"Release": map[string]interface{}{
			"Name": asked.Release, "Namespace": asked.Namespace, "Service": "Helm"},
	}
	objects, notes := []interface{}{}, ""
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		var text strings.Builder
		if err := all.ExecuteTemplate(&text, name, data); err != nil {
			return nil, "", err
		}
		if path.Base(name) == "NOTES.txt" {
			// Helm writes this, which is what a template prints of a value that is not there.
			notes = strings.ReplaceAll(text.String(), "<no value>", "")
			continue
		}
		found, err := documents(strings.ReplaceAll(text.String(), "<no value>", ""))
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w\n%s", name, err, text.String())
		}
		objects = append(objects, found...)
	}
	return objects, notes, nil
}

// capitalized gives the keys of Chart.yaml the names of Helm's fields: appVersion -> AppVersion.
func capitalized(metadata map[string]interface{}) map[string]interface{} {
	result := map[string]interface{}{}
	for key, value := range metadata {
		result[strings.ToUpper(key[:1])+key[1:]] = value
	}
	return result
}

func documents(text string) ([]interface{}, error) {
	var found []interface{}
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		var object map[string]interface{}
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			return nil, err
		}
		if len(object) > 0 {
			found = append(found, object)
		}
	}
	return found, nil
}
